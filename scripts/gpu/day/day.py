"""A day's run: where its answers lie, what has been done of it, and the order in which the rest is."""
import dataclasses
import json
import os
import pathlib
import subprocess
import time

import goals
import libraries
import stages
from figures import as_json, page
from runner import CUT, PASSED, Step

# What nvidia-smi calls a GPU, and the catalogue.
MACHINES = {"NVIDIA H100 80GB HBM3": "h100-sxm", "NVIDIA H100 PCIe": "h100-pcie", "NVIDIA H200": "h200",
            "NVIDIA A100-SXM4-40GB": "a100-sxm-40", "NVIDIA A100-SXM4-80GB": "a100-sxm-80"}


def name_of_gpu():
    command = ["nvidia-smi", "--query-gpu=name", "--format=csv,noheader"]
    try:
        return subprocess.run(command, capture_output=True, text=True, timeout=60).stdout.split("\n")[0].strip()
    except (OSError, subprocess.TimeoutExpired):
        return ""


def toml(value):
    return json.dumps(value)    # of strings, numbers and booleans the same


class Day:
    """`folder`: what `pack` wrote. `trial_model`: every run is one of this model on few tokens, to try the day itself."""

    def __init__(self, folder, out, python, trial_model=None):
        self.folder = folder
        self.out = out
        self.python = python
        self.trial_model = trial_model
        self.gpu = name_of_gpu()
        self.machine = MACHINES.get(self.gpu)
        self.training = self.packed("training")
        self.pytorch = self.packed("pytorch")
        self.scripts = self.packed("scripts")
        self.progress_file = out / "progress.json"
        out.mkdir(parents=True, exist_ok=True)
        self.progress = json.loads(self.progress_file.read_text()) if self.progress_file.exists() else {}

    # What there is to run with.

    @property
    def is_trial(self):
        return self.trial_model is not None

    def packed(self, name):
        path = self.folder / name
        return str(path) if path.is_dir() else None

    def program(self, name):
        return str(self.folder / name)

    def environment(self):
        found = [str(self.folder / "lib"), *libraries.folders(self.python), os.environ.get("LD_LIBRARY_PATH", "")]
        return {"LD_LIBRARY_PATH": ":".join(filter(None, found)), "FORESHARD_MODULES": str(self.folder),
                "PYTHONUNBUFFERED": "1"}

    def path(self, stage, name):
        return str(self.out / stage / name)

    # Steps that several stages have.

    def runs(self, table):
        """The runs of a table; two that are the same in all but their name are one."""
        if not self.is_trial:
            return table
        small = [dataclasses.replace(run, model=self.trial_model, micro_batch=1, sequence=16, ranks=min(run.ranks, 2),
                                     steps=3) for run in table]
        return list({repr(dataclasses.replace(run, name="")): run for run in reversed(small)}.values())[::-1]

    def model(self, name):
        if name != "8b-4-blocks":
            return name
        path = self.out / "models" / name / "config.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(stages.FOUR_BLOCKS_OF_8B))
        return str(path)

    def plan(self, stage, run):
        sections = {"batch": {"micro_batch": run.micro_batch, "sequence": run.sequence}, **run.keys}
        lines = [line for section, keys in sections.items()
                 for line in (f"[{section}]", *(f"{key} = {toml(value)}" for key, value in keys.items()))]
        path = self.out / stage / f"{run.name}.toml"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("\n".join(lines) + "\n")
        return str(path)

    def job(self, stage, run):
        return ["--device", "cuda", "--model", self.model(run.model), "--plan", self.plan(stage, run),
                "--ranks", str(run.ranks), "--steps", str(run.steps)]

    def train(self, stage, run, *options, seconds=60, variables=None):
        return Step(run.name, [self.program("foreshard"), "train", "-q", *self.job(stage, run), "--json",
                               self.path(stage, f"{run.name}.json"), *run.options, *options], seconds,
                    {**run.variables, **(variables or {})})

    def predict(self, stage, run, *options):
        return Step(f"{run.name}-predicted", [self.program("foreshard"), "predict", *self.job(stage, run), "--json",
                                              self.path(stage, f"{run.name}-predicted.json"), *options])

    def by_catalogue(self):
        return "--machine", self.machine, "--operators", "foreshard"

    def inspect(self, stage, name):
        return Step(f"{name}-inspected", [self.program("foreshard"), "inspect", self.path(stage, f"{name}.fst"),
                                          "--json", self.path(stage, f"{name}-inspected.json")])

    # What came of them.

    def verdicts(self, stage):
        return {name: entry["verdict"] for name, entry in self.progress.get(stage, {}).items()}

    def verdict(self, stage, step):
        return self.verdicts(stage).get(step)

    def has_passed(self, stage, step):
        return self.verdict(stage, step) == PASSED

    def text(self, stage, name):
        path = self.out / stage / name
        return path.read_text(errors="replace") if path.exists() else None

    def log(self, stage, step):
        return self.text(stage, f"{step}.log")

    def answer(self, stage, name):
        """Of a step that passed."""
        text = self.text(stage, f"{name}.json") if self.has_passed(stage, name) else None
        try:
            return None if text is None else json.loads(text)
        except ValueError:
            return None

    def keep(self, stage, step, outcome):
        self.progress.setdefault(stage, {})[step] = dataclasses.asdict(outcome)
        partial = self.progress_file.with_suffix(".part")
        partial.write_text(json.dumps(self.progress, indent=1) + "\n")
        partial.rename(self.progress_file)


def run_stage(day, runner, name, is_anew):
    """Does what has not been done before, or all of it."""
    (day.out / name).mkdir(exist_ok=True)
    if is_anew:
        day.progress.pop(name, None)
    until = time.monotonic() + stages.STAGES[name].seconds
    for step in stages.STAGES[name].steps(day):
        if day.verdict(name, step.name) not in (None, CUT):
            continue
        log = day.out / name / f"{step.name}.log"
        outcome = runner.run(step, log, until)
        day.keep(name, step.name, outcome)
        print(f"{name}/{step.name}: {outcome.text()}", flush=True)
        if outcome.verdict != PASSED and log.exists():
            for line in log.read_text(errors="replace").splitlines()[-4:]:
                print("    " + line[:200], flush=True)


def write_page(day, archive, chosen, notes):
    """Returns whether all figures are good. The archive holds the page, which says what the archive lacks."""
    figures = {stage: goals.figures(day, stage) for stage in chosen}
    for _ in range(2):
        text = page(f"A day with {day.gpu or 'no GPU that nvidia-smi knows'}", figures, notes)
        (day.out / "page.txt").write_text(text)
        (day.out / "figures.json").write_text(as_json(figures, notes))
        left_out = archive.write()
        notes = [f"left out of the archive: {path} ({size / 1e6:.1f} MB)" for path, size in left_out]
        if not left_out:
            break
    return text, all(row.is_good for rows in figures.values() for row in rows)


def run(day, chosen, runner, archive):
    """The exit status."""
    order = chosen or list(stages.STAGES)
    done = []
    try:
        for stage in order:
            run_stage(day, runner, stage, bool(chosen))
            done.append(stage)
            write_page(day, archive, done, [])
            if stage == "libraries" and not chosen and not day.has_passed(stage, "found"):
                print("libraries are missing: nothing else is run; name the stages to run them all the same")
                break
    finally:
        text, is_good = write_page(day, archive, order, [])
        print("\n" + text, end="", flush=True)
    return 0 if is_good else 1
