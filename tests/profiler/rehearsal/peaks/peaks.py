"""Rehearses training jobs and compares what `foreshard rehearse` answers with what PyTorch's allocator
reported of the same steps elsewhere, to the byte.

    peaks.py [--cases cases.json] [--peaks peaks.csv] [--configs FOLDER] [--only REGEX] [--jobs N]

Each case is a job of plain.py or trainer.py; README.md describes the files. One line says what came of each
case, the last one how many are exact. Exit status 1 where one is not. Cases whose packages are missing, or of
releases other than the recorded ones, are named as skipped."""

import argparse
import collections
import concurrent.futures
import csv
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
from needs import PROGRAM, PYTHON, missing, versions  # noqa: E402

CONFIGS = HERE.parents[2] / "golden/pytorch_flows/configs"
PEAKS = ("active", "allocated", "reserved")
MACHINES = {80: "a100-sxm-80", 75: "t4"}
AMPLE = "1024GiB"
# Keys of a case that stand in the environment, and all that are no arguments of its script.
VARIABLES = {
    "alloc_conf": "PYTORCH_ALLOC_CONF",
    "cublas": "CUBLAS_WORKSPACE_CONFIG",
}
ELSEWHERE = {"id", "kind", "job", "plan", "model", "world", "rank", "steps", "events", "sm", "loop", "device_bytes", "gpu", *VARIABLES}
OF_TRAINER = {"impl", "autocast", "setup", "optim", "precision", "reshard", "accum_sync", "reentrant",
              "bucket_mb", "init_sync"}


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", type=pathlib.Path, default=HERE / "cases.json")
    parser.add_argument("--peaks", type=pathlib.Path, default=HERE / "peaks.csv")
    parser.add_argument("--configs", type=pathlib.Path, default=CONFIGS)
    parser.add_argument("--only", default="", help="a regular expression of the cases' names")
    parser.add_argument("--jobs", type=int, default=1, help="rehearsals at once")
    return parser.parse_args()


def command_of(case, configs):
    """The script and its arguments."""
    with_trainer = case.get("loop") == "trainer"
    script = HERE / ("trainer.py" if with_trainer else "plain.py")
    given = {key: value for key, value in case.items() if key not in ELSEWHERE}
    if with_trainer:
        given = {key: value for key, value in given.items() if key not in OF_TRAINER}
    else:
        set_up(case, given)
    words = [word for key, value in given.items() for word in (f"--{key}", str(value))]
    return [PYTHON, str(script), "--config", str(configs / f"{case['model']}.json"), *words]


def lacking(case):
    """Releases that the case was recorded with and that the interpreter does not have, in words."""
    wanted = {"torch": "2.11."}
    if case.get("impl") == "hf":
        wanted["transformers"] = "5.5."
    if case.get("lora"):
        wanted["peft"] = "0."
    if case.get("loop") == "trainer":
        wanted["accelerate"] = "1."
    have = versions()
    return ", ".join(f"{k} {v}*" for k, v in wanted.items() if not have.get(k, "").startswith(v))


def set_up(case, given):
    """What a case leaves to its way of sharding: where the model is built, and whether weights stay tied."""
    api = case.get("api", "fsdp2")
    if api != "fsdp2" and not case.get("setup"):
        given.update(setup="device", tie=0)
        if api == "ddp":
            given.setdefault("init_sync", 0)
    elif case.get("wrap") == "titan" or (api != "fsdp2" and case["setup"] == "meta"):
        given["tie"] = 0


def rehearse(case, command):
    """(exit status, answer or None, standard error)"""
    environment = dict(os.environ)
    environment.update((name, case[key]) for key, name in VARIABLES.items() if case.get(key))
    options = {
        "--ranks": case.get("world", 8),
        "--rank": case.get("rank", 0),
        "--steps": case.get("steps", 3) + bool(case.get("eval_every")),
        "--device-memory": case.get("device_bytes") or AMPLE,
        "--gpu-timing": case.get("gpu") or "ready",
    }
    if case.get("sm", 90) != 90:
        options["--machine"] = MACHINES[case["sm"]]
    words = [str(word) for pair in options.items() for word in pair]
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(
            [PROGRAM, "rehearse", "--json", "-", "-o", "run.fst", *words, "--", *command],
            cwd=folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
        )
    answer = json.loads(done.stdout) if done.stdout else None
    return done.returncode, answer, done.stderr


def steps_of(answer, error, case):
    """Peaks of each step; of one that an evaluation follows the higher ones of both, as the script itself
    prints what the evaluation reached."""
    steps = [[step[f"peak_{kind}_bytes"] for kind in PEAKS] for step in answer["steps"]]
    reached = [list(map(int, line.split()[2:])) for line in error.splitlines() if line.startswith("evaluation")]
    every = case.get("eval_every") or 0
    for step, peaks in zip(range(every, len(steps) + 1, every or 1) if every else (), reached):
        steps[step - 1] = list(map(max, steps[step - 1], peaks))
    return steps[: case.get("steps", 3)]


def differences(case, rows, configs):
    """What is not as recorded, in words; empty where all is."""
    status, answer, error = rehearse(case, command_of(case, configs))
    if answer is None or status not in (0, 3):
        last = (error.strip().splitlines() or ["no output"])[-1]
        return [f"exit status {status}: {last}"]
    wrong = []
    steps = steps_of(answer, error, case)
    for number, row in enumerate(rows):
        request = int(row.get("oom_request") or 0)
        if request:
            oom = answer["oom"] or {}
            if (oom.get("step"), oom.get("requested_bytes")) != (number + 1, request):
                wrong.append(f"step {number + 1} runs out of memory at {oom}, right is {request}")
            break
        if number >= len(steps):
            wrong.append(f"no step {number + 1}")
            break
        for kind, got in zip(PEAKS, steps[number]):
            right = int(row[f"peak_{kind}"])
            if got != right:
                wrong.append(f"step {number + 1} {kind} {got}, right is {right} ({got - right:+d})")
    return wrong


def main():
    args = arguments()
    if needed := missing():
        print(f"OK (skipped=1): {needed}")
        return 0
    with open(args.peaks, newline="") as file:
        recorded = collections.defaultdict(list)
        for row in csv.DictReader(file):
            recorded[row["id"]].append(row)
    cases = [case for case in json.loads(args.cases.read_text()) if re.search(args.only, case["id"])]
    run = [case for case in cases if not lacking(case)]
    for case in cases:
        if case not in run:
            print(f"{case['id']}: skipped, needs {lacking(case)}")
    exact = 0
    with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        results = pool.map(lambda case: differences(case, recorded[case["id"]], args.configs), run)
        for case, wrong in zip(run, results):
            exact += not wrong
            print(f"{case['id']}: {'; '.join(wrong) or 'exact'}", flush=True)
    print(f"{exact} of {len(run)} cases exact")
    return 0 if exact == len(run) else 1


if __name__ == "__main__":
    sys.exit(main())
