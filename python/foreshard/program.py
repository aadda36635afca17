"""Finds the program `foreshard` and runs its commands."""

import json
import os
import shutil
import subprocess
import sysconfig
import tempfile

from .errors import Error, InputError, RunError

_PREFIX = "foreshard: error: "


def find_program(name, variable):
    """The path of an installed program: the one that an environment variable names, that of this package's
    wheel, or the first on PATH; None where there is none."""
    if os.environ.get(variable):
        return os.environ[variable]
    package = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    folders = [
        sysconfig.get_path("scripts"),
        sysconfig.get_path("scripts", f"{os.name}_user"),
        os.path.join(package, "bin"),  # pip install --target
    ]
    for folder in folders:
        candidate = os.path.join(folder, name)
        if os.access(candidate, os.X_OK):
            return candidate
    return shutil.which(name)


def program_path():
    """The path of `foreshard`. FORESHARD_PROGRAM names another one."""
    found = find_program("foreshard", "FORESHARD_PROGRAM")
    if found is None:
        raise Error("the program foreshard is not there; expected it where pip installs programs, or on PATH")
    return found


def version():
    """The program's version, as "0.1.0"."""
    return run_program(["--version"]).split()[-1]


def run_program(words, answers=(0,), environment=None):
    """The standard output of `foreshard WORDS...`, whose exit status has to be one of `answers`."""
    process = subprocess.run(
        [program_path(), *words],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, **(environment or {})},
    )
    complaint = process.stderr.decode("utf-8", "replace")
    if process.returncode in answers:
        return process.stdout.decode("utf-8", "replace")
    raise error_of(process.returncode, complaint)


def error_of(status, complaint):
    """What the exit status and standard error say."""
    lines = complaint.strip().splitlines()
    errors = [line[len(_PREFIX) :] for line in lines if line.startswith(_PREFIX)]
    text = "\n".join(errors or lines[-5:]) or f"ended with status {status}"
    return InputError(text) if status == 2 else RunError(text)


def ask(command, words, answers=(0,)):
    """The JSON answer of a command and its report as text."""
    with tempfile.TemporaryDirectory(prefix="foreshard-") as folder:
        answer = os.path.join(folder, "answer.json")
        text = run_program([command, *words, "--json", answer], answers)
        with open(answer, encoding="utf-8") as file:
            return json.load(file), text


def option_words(options):
    """Command-line words of keyword arguments: `device_memory="80GiB"` is `--device-memory 80GiB`, True is the
    option alone, None and False are left out, a list has commas, and a dictionary repeats the option with NAME=VALUE."""
    words = []
    for name, value in options.items():
        option = "--" + name.rstrip("_").replace("_", "-")
        if value is None or value is False:
            continue
        if value is True:
            words.append(option)
        elif isinstance(value, dict):
            for key, one in value.items():
                words += [option, f"{key}={one}"]
        elif isinstance(value, (list, tuple, range)):
            words += [option, ",".join(str(one) for one in value)]
        else:
            words += [option, str(value)]
    return words
