"""The commands of `foreshard` as functions. Each takes the command's options as keyword arguments, with `_` for `-`
(`device_memory="80GiB"`); `foreshard COMMAND --help` describes them all. A wrong one is an InputError."""

import contextlib
import json
import os
import shlex
import subprocess
import sys
import tempfile
import threading

from . import answers
from .program import ask, error_of, option_words, program_path


@contextlib.contextmanager
def _plan_file(plan):
    """The path of a plan, which may also be a dictionary of sections or the text of a plan."""
    if plan is None or isinstance(plan, os.PathLike) or (isinstance(plan, str) and "\n" not in plan):
        yield plan
        return
    with tempfile.TemporaryDirectory(prefix="foreshard-") as folder:
        path = os.path.join(folder, "plan.toml")
        with open(path, "w", encoding="utf-8") as file:
            file.write(plan if isinstance(plan, str) else plan_text(plan))
        yield path


def plan_text(sections):
    """A plan as TOML: {"batch": {"micro_batch": 2}} is micro_batch = 2 in [batch]."""
    lines = []
    for section, keys in sections.items():
        lines.append(f"[{section}]")
        lines += [f"{key} = {json.dumps(value)}" for key, value in keys.items()]
    return "\n".join(lines) + "\n"


def predict(model=None, *, plan=None, ranks=None, nodes=None, machine=None, **options):
    """Peak memory and step time of a training job: an answers.Prediction.

    model: a bundled name (`models()`), a Hugging Face folder or its config.json. plan: a file that
    `foreshard predict --plan` takes, a dictionary of its sections, or its text. ranks, nodes: how many. machine:
    one of `machines()`, or "FILE.csv:ID". A plan that does not fit is an answer, not an error."""
    with _plan_file(plan) as path:
        named = dict(model=model, plan=path, ranks=ranks, nodes=nodes, machine=machine)
        return answers.Prediction.of(*ask("predict", option_words({**named, **options})))


def search(model, *, machines=None, gpus=None, base=None, space=None, **options):
    """The best plans for a model on given machines: an answers.SearchResult.

    machines, gpus: what to choose from, one or a list. base: the plan that is varied, as `predict` takes it.
    space: values of each key that varies, {"batch.micro_batch": [1, 2, 4]}, or a TOML file."""
    with contextlib.ExitStack() as files:
        if isinstance(space, dict):
            folder = files.enter_context(tempfile.TemporaryDirectory(prefix="foreshard-"))
            path = os.path.join(folder, "space.toml")
            with open(path, "w", encoding="utf-8") as file:
                file.writelines(f"{json.dumps(key)} = {json.dumps(list(values))}\n" for key, values in space.items())
            space = path
        named = dict(model=model, machines=machines, gpus=gpus, space=space, base=files.enter_context(_plan_file(base)))
        return answers.SearchResult.of(*ask("search", option_words({**named, **options})))


def whatif(trace, *, scale=None, set=None, machine=None, ranks=None, **options):
    """How long a recorded run would have taken under other times: an answers.WhatIf.

    scale: factors of device work by name, {"nvjet*": 0.7}. set: {"collectives": 0.5, "launch": 2}."""
    named = dict(scale=scale, set=set, machine=machine, ranks=ranks)
    return answers.WhatIf.of(*ask("whatif", [os.fspath(trace), *option_words({**named, **options})]), trace=trace)


def inspect(trace, **options):
    """Where time and memory of one recording went: an answers.Inspection."""
    return answers.Inspection.of(*ask("inspect", [os.fspath(trace), *option_words(options)]), trace=trace)


def compare(first, second, **options):
    """What differs between a measured and a predicted trace: an answers.Comparison."""
    words = [os.fspath(first), os.fspath(second), *option_words(options)]
    return answers.Comparison.of(*ask("compare", words), trace=(first, second))


def collective(kind, *, bytes, ranks, machine=None, **options):
    """The time of one collective: an answers.Collective. kind: "all_gather", "reduce_scatter", "all_reduce",
    "all_to_all", "broadcast" or "transfer". bytes: of the whole buffer."""
    named = dict(kind=kind, bytes=bytes, ranks=ranks, machine=machine)
    return answers.Collective.of(*ask("collective", option_words({**named, **options})))


def machines():
    """The machines of the catalogue, each an answers.Listing.Machines."""
    return answers.Listing.of(*ask("list", ["machines"])).machines


def models():
    """The bundled models, each an answers.Listing.Models."""
    return answers.Listing.of(*ask("list", ["models"])).models


def rehearse(command, *, ranks=None, machine=None, output=None, show=True, **options):
    """Runs a PyTorch script without a GPU: an answers.Rehearsal, also where memory ran out.

    command: the words of the command, such as ["python", "train.py"], or one string. output: the trace to write;
    without one it lasts as long as the answer. show: print what the script prints, as it does."""
    words = shlex.split(command) if isinstance(command, str) else [os.fspath(word) for word in command]
    keeper = None
    if output is None:
        keeper = tempfile.TemporaryDirectory(prefix="foreshard-")
        output = os.path.join(keeper.name, "rehearsal.fst")
    with tempfile.TemporaryDirectory(prefix="foreshard-") as folder:
        answer = os.path.join(folder, "answer.json")
        named = dict(ranks=ranks, machine=machine, output=output, json=answer)
        process = subprocess.Popen(
            [program_path(), "rehearse", *option_words({**named, **options}), "--", *words],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        try:
            text, complaint = _outputs(process, show)
        except BaseException:
            process.terminate()
            process.wait()
            raise
        if not os.path.exists(answer):
            raise error_of(process.returncode, complaint)
        with open(answer, encoding="utf-8") as file:
            return answers.Rehearsal.of(json.load(file), text, trace=output, keeper=keeper)


def _outputs(process, show):
    """What a process writes to both of its outputs, shown meanwhile on ours."""
    written = {}

    def read(name, stream, shown_on):
        lines = written[name] = []
        for line in iter(stream.readline, b""):
            lines.append(line.decode("utf-8", "replace"))
            if show:
                shown_on.write(lines[-1])

    threads = [
        threading.Thread(target=read, args=("text", process.stdout, sys.stdout)),
        threading.Thread(target=read, args=("complaint", process.stderr, sys.stderr)),
    ]
    for thread in threads:
        thread.start()
    process.wait()
    for thread in threads:
        thread.join()
    return "".join(written["text"]), "".join(written["complaint"])
