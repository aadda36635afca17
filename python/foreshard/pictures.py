"""Pictures of answers and traces, drawn by the viewer (`foreshard-gui`) without a display."""

import json
import os
import subprocess
import tempfile

from .errors import Error
from .program import error_of, find_program, option_words, run_program

# The views that an answer is shown in; those that are missing have no picture.
_VIEWS = {
    "Prediction": "timeline",
    "SearchResult": "timeline",
    "Rehearsal": "memory",
    "WhatIf": "timeline",
    "Inspection": "timeline",
    "Comparison": "compare",
}
_TYPES = {".png": "image/png", ".svg": "image/svg+xml"}


class Picture:
    """A picture of type "image/png" or "image/svg+xml", which notebooks show."""

    def __init__(self, data, type):
        self.data, self.type = data, type

    def save(self, path):
        with open(path, "wb") as file:
            file.write(self.data)

    def _repr_mimebundle_(self, include=None, exclude=None):
        return {self.type: self.data.decode() if self.type == "image/svg+xml" else self.data}


def viewer_path():
    """The path of `foreshard-gui`, or None. FORESHARD_VIEWER names another one."""
    return find_program("foreshard-gui", "FORESHARD_VIEWER")


def draw(*files, view="timeline", path=None, size="1200x700", theme="light", format="png", range=None):
    """A Picture of traces, recordings or plans in a view: "timeline", "memory", "whatif" or "compare".

    path: written to as well; its ending says the format then. size: in pixels, "1200x700". theme: "light" or "dark".
    range: of the trace's time, "120ms..1.5s"."""
    viewer = viewer_path()
    if viewer is None:
        raise Error("the viewer is not installed, which draws pictures; expected pip install 'foreshard[viewer]'")
    ending = os.path.splitext(os.fspath(path))[1] if path else "." + format
    with tempfile.TemporaryDirectory(prefix="foreshard-") as folder:
        drawn = os.path.join(folder, "picture" + ending)
        words = option_words(dict(render=drawn, view=view, size=size, theme=theme, range=range))
        process = subprocess.run(
            [viewer, *words, *(os.fspath(file) for file in files)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        if process.returncode:
            raise error_of(process.returncode, process.stderr.decode("utf-8", "replace"))
        with open(drawn, "rb") as file:
            picture = Picture(file.read(), _TYPES[ending])
    if path:
        picture.save(path)
    return picture


def of_answer(answer, path=None, **options):
    kind = type(answer).__name__
    if kind not in _VIEWS:
        raise Error(f"{kind} has no picture")
    options.setdefault("view", _VIEWS[kind])
    if kind == "SearchResult":
        if answer.best is None:
            raise Error("no plan fits, so there is none to draw")
        return of_answer(_best_of(answer), path, **options)
    if kind != "Prediction":
        traces = answer._trace if isinstance(answer._trace, tuple) else (answer._trace,)
        return draw(*traces, path=path, **options)
    with tempfile.TemporaryDirectory(prefix="foreshard-") as folder:
        question, trace = os.path.join(folder, "question.json"), os.path.join(folder, "predicted.fst")
        with open(question, "w", encoding="utf-8") as file:
            json.dump(answer.json, file)
        run_program(["predict", "--question", question, "--trace", trace, "--quiet"])
        return draw(trace, path=path, **options)


def _best_of(found):
    from .commands import predict

    best = found.best
    return predict(found.model, plan=best.plan, ranks=best.gpus, nodes=best.nodes, machine=best.machine)


def bundle_of(answer):
    """What a notebook shows: the report as text, and a picture where there can be one."""
    bundle = {"text/plain": str(answer)}
    if type(answer).__name__ not in _VIEWS:
        return bundle
    try:
        picture = of_answer(answer)
    except Error as why:
        bundle["text/plain"] += f"\n(No picture: {why}.)"
        return bundle
    return {**bundle, picture.type: picture.data}
