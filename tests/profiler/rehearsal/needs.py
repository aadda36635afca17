"""What tests of rehearsals run: the program, the null device beside it, and an interpreter with a PyTorch for
CUDA, the one that FORESHARD_TORCH_PYTHON names or else this one."""

import functools
import json
import os
import pathlib
import shutil
import subprocess
import sys

PROGRAM = os.environ.get("FORESHARD_PROGRAM", "foreshard")
PYTHON = shutil.which(os.environ.get("FORESHARD_TORCH_PYTHON") or sys.executable) or ""
MODULES = pathlib.Path(os.environ.get("FORESHARD_MODULES") or pathlib.Path(PROGRAM).parent)


def missing():
    """What is not there, in words; "" where all is."""
    if not (MODULES / "libforeshard_rehearsal.so").exists():
        return "the null device (libforeshard_rehearsal.so) was not built"
    ask = "import torch; print(torch.version.cuda)"
    answer = subprocess.run([PYTHON, "-c", ask], capture_output=True, text=True)
    if answer.returncode != 0 or answer.stdout.strip() == "None":
        return f"{PYTHON} has no PyTorch for CUDA (FORESHARD_TORCH_PYTHON names an interpreter)"
    return ""


@functools.cache
def versions():
    """Of the packages that the interpreter has, by name; of two the one that it imports."""
    ask = (
        "import importlib.metadata as m, json; found = [d for d in m.distributions() if d.metadata['Name']]; "
        "print(json.dumps({d.metadata['Name'].lower(): d.version for d in reversed(found)}))"
    )
    return json.loads(subprocess.run([PYTHON, "-c", ask], capture_output=True, text=True).stdout)
