"""Whether this interpreter can rehearse: it needs a PyTorch for CUDA of a release that was compared with the
null device, and of that only two files are read."""

import importlib.util
import os
import re
import sys

from foreshard_rehearsal import record

OLDEST, NEWEST = (2, 6), (2, 15)


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
    torch = f"{sys.executable}: torch {version.get('__version__')}"
    if version.get("cuda") is None:
        kind = "for ROCm" if version.get("hip") else "for CPUs"
        record.refuse(f"{torch} is a build {kind}; expected a PyTorch for CUDA")
    if not OLDEST <= _release(str(version.get("__version__"))) <= NEWEST:
        oldest, newest = (".".join(map(str, release)) for release in (OLDEST, NEWEST))
        record.refuse(f"{torch} is not a release that can be rehearsed; expected PyTorch {oldest} to {newest}")
    for variable in ("PYTORCH_ALLOC_CONF", "PYTORCH_CUDA_ALLOC_CONF"):
        if "cudaMallocAsync" in os.environ.get(variable, ""):
            record.refuse(
                f"{variable}: backend:cudaMallocAsync leaves memory to the driver's pools, which cannot be "
                "rehearsed; expected PyTorch's own allocator"
            )


def _release(version):
    numbers = re.match(r"(\d+)\.(\d+)", version)
    return tuple(map(int, numbers.groups())) if numbers else (0, 0)


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
