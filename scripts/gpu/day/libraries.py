#!/usr/bin/env python3
"""What the packed programs need of CUDA's libraries, and where this machine has it.

  libraries.py FOLDER      lists what is missing; exit status 1 if anything is

Every program and library in FOLDER is looked at with ldd, and every module is loaded as the program loads it."""
import ctypes
import os
import pathlib
import subprocess
import sys

TOOLKIT = pathlib.Path("/usr/local/cuda")


def folders(python):
    """Those of Python's wheels first, since PyTorch loads its libraries from there, then those of the toolkit."""
    code = "import nvidia; print(*nvidia.__path__, sep='\\n')"
    try:
        answer = subprocess.run([*python, "-c", code], capture_output=True, text=True, timeout=60)
        roots = [pathlib.Path(line) for line in answer.stdout.splitlines()]
    except (OSError, subprocess.TimeoutExpired):
        roots = []
    found = [folder for root in roots for folder in sorted(root.glob("*/lib"))]
    return [str(folder) for folder in (*found, TOOLKIT / "extras/CUPTI/lib64", TOOLKIT / "lib64") if folder.is_dir()]


def not_found(file):
    lines = subprocess.run(["ldd", file], capture_output=True, text=True).stdout.splitlines()
    return [line.split()[0] for line in lines if "not found" in line]


def main():
    folder = pathlib.Path(sys.argv[1])
    missing = []
    print("looked for in:", *os.environ.get("LD_LIBRARY_PATH", "").split(":"), sep="\n  ")
    for file in sorted(path for path in folder.iterdir() if path.is_file() and os.access(path, os.X_OK)):
        missing += [f"{file.name}: {library} is not found" for library in not_found(file)]
        if file.suffix != ".so":
            continue
        # The injection library acts when CUDA calls it, not when it is loaded.
        try:
            ctypes.CDLL(str(file.resolve()), mode=os.RTLD_NOW)
            print(f"{file.name}: loaded")
        except OSError as error:
            missing.append(f"{file.name}: cannot be loaded: {error}")
    print(*missing, sep="\n")
    print(f"{len(missing)} missing")
    sys.exit(1 if missing else 0)


if __name__ == "__main__":
    main()
