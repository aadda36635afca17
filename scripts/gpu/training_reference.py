#!/usr/bin/env python3
"""Trains the cases of a reference that PyTorch made, and compares losses and gradient norms.

  training_reference.py REFERENCE OUT [--program P] [--only REGEX] [-- OPTIONS OF foreshard train]

REFERENCE has summary.json and a folder for each model with model.safetensors and cases/*.json (each with `plan`,
`ranks`, `steps`, `data`, `results` and, in `deviation.truth`, the case in fp64 that it is measured against). A case
holds if its curve is no further from the truth than 10 times PyTorch's worst in fp32, 2.5 times in bf16. Writes OUT/losses.csv;
the last line counts. Exit status 1 if a case does not hold."""
import argparse
import csv
import json
import pathlib
import re
import subprocess
import sys
import tempfile


def toml(value):
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list):
        return "[" + ", ".join(toml(item) for item in value) + "]"
    return json.dumps(value)


def plan_text(case):
    plan = {section: dict(keys) for section, keys in case["plan"].items() if isinstance(keys, dict)}
    plan.setdefault("batch", {})["gradient_sync"] = case.get("gradient_sync", "every")
    lines = ['operators = "foreshard"', 'runtime = "fsdp2"']
    for section, keys in plan.items():
        lines += [f"[{section}]"] + [f"{key} = {toml(value)}" for key, value in keys.items()]
    return "\n".join(lines) + "\n"


def distance(curve, truth):
    return max(abs(a - b) / max(abs(b), 1e-12) for a, b in zip(curve, truth, strict=True))


def run_case(args, root, model, name, case, folder):
    plan, answer = folder / "plan.toml", folder / "answer.json"
    plan.write_text(plan_text(case))
    command = [args.program, "train", "-q", "--model", model, "--init", model / "model.safetensors", "--data",
               root / case["data"], "--plan", plan, "--ranks", case["ranks"], "--steps", case["steps"], "--json", answer,
               *args.options]
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, timeout=args.seconds)
    if done.returncode:
        raise RuntimeError(done.stderr.strip()[-200:])
    return json.loads(answer.read_text())["steps"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("reference", type=pathlib.Path)
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("--program", default="build/release/bin/foreshard")
    parser.add_argument("--only", default="")
    parser.add_argument("--seconds", type=float, default=120, help="for one case")
    own = sys.argv[1:]
    options = own[own.index("--") + 1:] if "--" in own else []
    args = parser.parse_args(own[:own.index("--")] if "--" in own else own)
    args.options = options
    args.out.mkdir(parents=True, exist_ok=True)
    worst = json.loads((args.reference / "summary.json").read_text())["worst_by_precision"]
    held = failed = 0
    with open(args.out / "losses.csv", "w", newline="") as file, tempfile.TemporaryDirectory() as scratch:
        table = csv.writer(file)
        table.writerow(["model", "case", "loss_deviation", "grad_norm_deviation", "pytorch_loss", "pytorch_grad_norm",
                        "holds", "error"])
        for model in sorted(path.parent for path in args.reference.glob("*/model.safetensors")):
            cases = {path.stem: json.loads(path.read_text()) for path in (model / "cases").glob("*.json")}
            for name, case in sorted(cases.items()):
                is_ours = case["plan"]["runtime"] in ("fsdp2", "single")
                if not is_ours or name.startswith("fp64") or "eager" in name or not re.search(args.only, name):
                    continue
                precision = case["plan"]["precision"]
                is_bf16 = precision["param"] == "bf16"
                theirs = worst[model.name][f"bf16/{precision['reduce']}" if is_bf16 else "fp32"]
                truth = cases[case["deviation"]["truth"]]["results"]
                off, error = {}, ""
                try:
                    steps = run_case(args, args.reference, model, name, case, pathlib.Path(scratch))
                    off = {field: distance([step[field] for step in steps], [step[field] for step in truth])
                           for field in ("loss", "grad_norm")}
                except (RuntimeError, ValueError, subprocess.TimeoutExpired) as problem:
                    error = str(problem)
                limit = 2.5 if is_bf16 else 10.0
                holds = not error and all(off[field] <= limit * theirs[field] for field in off)
                held, failed = held + holds, failed + (not holds)
                table.writerow([model.name, name, off.get("loss"), off.get("grad_norm"), theirs["loss"],
                                theirs["grad_norm"], holds, error])
                file.flush()
                if not holds:
                    print(f"{model.name}/{name}: {error or off} (PyTorch: {theirs})")
    print(f"{held} cases hold, {failed} do not")
    sys.exit(1 if failed or not held else 0)


if __name__ == "__main__":
    main()
