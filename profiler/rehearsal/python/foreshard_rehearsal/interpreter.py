"""Whether this interpreter can rehearse: it needs a PyTorch for CUDA, of which only two files are read."""

import importlib.util
import os
import sys

from foreshard_rehearsal import record


def check():
    """Ends the process with one sentence for the command where it cannot; an interpreter without PyTorch
    may run scripts that do not import it, so that is said when they do."""
    folder = _folder_of_torch()
    if folder is None:
        sys.meta_path.append(_NoTorch())
        return
    version = {}
    try:
        with open(os.path.join(folder, "version.py"), encoding="utf-8") as file:
            exec(file.read(), version)
    except OSError:
        return
    if version.get("cuda") is None:
        kind = "for ROCm" if version.get("hip") else "for CPUs"
        record.refuse(
            f"{sys.executable}: torch {version.get('__version__')} is a build {kind}; "
            "expected a PyTorch for CUDA"
        )


class _NoTorch:
    """Asked after all others: nobody has it."""

    @staticmethod
    def find_spec(name, path=None, target=None):
        if name == "torch":
            record.refuse(f"{sys.executable}: has no torch; expected an interpreter with PyTorch for CUDA")
        return None


def _folder_of_torch():
    spec = importlib.util.find_spec("torch")
    return os.path.dirname(spec.origin) if spec is not None and spec.origin else None
