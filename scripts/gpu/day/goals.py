"""What a day must show: figures of each stage from the answers of its steps. A figure that cannot be told is missing,
which is as bad as one that misses its goal."""
import hashlib
import json
import re

import memory as peaks
import stages
from figures import at_least, at_most, is_so, noted


def milliseconds(ns):
    return None if ns is None else f"{ns / 1e6:.2f} ms"


def step_time(day, stage, run):
    return (day.answer(stage, run) or {}).get("step_time_ns")


def ratio(a, b):
    return None if a is None or not b else a / b


def catalogue_error(day, stage, run):
    predicted, measured = step_time(day, stage, f"{run}-predicted"), step_time(day, stage, run)
    error = ratio(predicted, measured)
    return noted("error of the catalogue's prediction", None if error is None else f"{100 * (error - 1):+.1f} %")


def mfu(day, stage, run):
    """Model FLOP/s of the measured step over the machine's: the prediction knows both for the step time it predicts."""
    predicted, measured = day.answer(stage, f"{run}-predicted") or {}, step_time(day, stage, run)
    if not predicted.get("mfu") or not measured:
        return None
    return 100 * predicted["mfu"] * predicted["step_time_ns"] / measured


def tests(day, stage, step):
    """True where all passed, and there were some."""
    log = day.log(stage, step)
    if day.verdict(stage, step) is None or log is None:
        return None
    return day.has_passed(stage, step) and re.search(r"\[  PASSED  \] [1-9]", log) is not None


def all_tests(stage, steps):
    return lambda day: [row for step in steps for row in is_so(step, tests(day, stage, step), "all pass")]


def pytorch_step(day, case):
    lines = (day.text("speed", "pytorch/steps.jsonl") or "").splitlines()
    steps = [json.loads(line) for line in lines]
    return next((1e9 * step["steady_step_s"] for step in steps if step["id"] == case), None)


def recording(day, stage, name):
    """Whether a trace is whole, and what stands against it."""
    seen = day.answer(stage, f"{name}-inspected")
    if seen is None:
        return is_so(f"{name}: whole", None, "yes")
    has_work = all(rank["compute_ns"] for rank in seen["ranks"]) and bool(seen["ranks"])
    dropped = seen["dropped_records"]
    return is_so(f"{name}: whole", bool(seen["complete"] and not dropped and has_work), "yes",
                 f"{dropped} records dropped" if dropped else "")


def smoke(day):
    """What the day's runs are computed with, by the last of the first ones."""
    used = (day.answer("smoke", "bf16") or {}).get("gpu_libraries")
    rows = [row for name, version in (used or {}).items() for row in noted(name, version)]
    return rows + is_so("attention in bf16", used and used["attention"].startswith("cuDNN"), "by cuDNN")


def speed(day):
    plain, unrecorded = step_time(day, "speed", "plain"), step_time(day, "speed", "without_graphs")
    compiled = pytorch_step(day, "1b_w1_compile")
    cost = ratio(step_time(day, "speed", "recorded"), unrecorded)
    rows = []
    for run in ("plain", "without_graphs", "graphs", "tuned", "without_cudnn", "recorded"):
        rows += noted(f"step, {run}", milliseconds(step_time(day, "speed", run)))
    rows += noted("step, PyTorch eager", milliseconds(pytorch_step(day, "1b_w1")))
    rows += noted("step, torch.compile", milliseconds(compiled))
    graphs = (day.answer("speed", "graphs") or {}).get("cuda_graphs")
    rows += is_so("steps launched as graphs", graphs and graphs["steps_launched"] > 0, "some",
                  str(graphs["steps_launched"]) if graphs else "")
    rows += at_most("step over torch.compile's", ratio(plain, compiled), 1.0, "{:.3f}")
    rows += at_least("MFU, %", mfu(day, "speed", "plain"), 45, "{:.1f}")
    rows += at_most("cost of recording, %", None if cost is None else 100 * (cost - 1), 2)
    return rows + catalogue_error(day, "speed", "plain") + recording(day, "speed", "recorded")


def large(day):
    return noted("step", milliseconds(step_time(day, "large", "plain"))) + at_least(
        "MFU, %", mfu(day, "large", "plain"), 55, "{:.1f}") + catalogue_error(day, "large", "plain")


def memory(day):
    off, missing = {}, []
    for run in day.runs(stages.MEMORY):
        measured, predicted = day.answer("memory", run.name), day.answer("memory", f"{run.name}-predicted")
        if measured is None or predicted is None:
            missing.append(run.name)
            continue
        off[run.name] = peaks.worst_difference(measured, predicted)
    rows = [row for name, difference in off.items() if difference for row in at_most(f"{name}: bytes", difference, 0, "{:,}")]
    rows += [row for name in missing for row in at_most(f"{name}: bytes", None, 0, "{:,}")]
    exact, every = list(off.values()).count(0), len(off) + len(missing)
    return rows + is_so("runs to the byte", exact == every, "all", f"{exact} of {every}")


def weights(day, run):
    path = day.out / "equality" / f"{run}.safetensors"
    if not day.has_passed("equality", run) or not path.exists():
        return None
    return hashlib.sha256(path.read_bytes()).hexdigest()


def equality(day):
    rows = []
    for run, other in (("second", "first"), ("poisoned", "first"), ("graphs", "first"), ("without_graphs", "first"),
                       ("second-2", "first-2")):
        one, two = weights(day, run), weights(day, other)
        rows += is_so(f"weights of {run} are those of {other}", None if None in (one, two) else one == two, "bit by bit")
    return rows


def calibrate(day):
    errors = []
    for run, stage, name in stages.predicted_runs(day):
        predicted = step_time(day, "calibrate", f"{run.name}-predicted")
        measured = step_time(day, stage, name)
        error = None if predicted is None else ratio(predicted, measured)
        errors.append((run.name, None if error is None else 100 * (error - 1)))
    rows = [row for name, error in errors for row in noted(f"error of {name}", None if error is None else f"{error:+.1f} %")]
    known = [abs(error) for _, error in errors if error is not None]
    is_whole = len(known) == len(errors)
    rows += at_most("mean error, %", sum(known) / len(known) if is_whole else None, 3)
    return rows + at_most("worst error, %", max(known) if is_whole else None, 8)


def reference(day):
    log = day.log("reference", "losses")
    held = log and re.search(r"(\d+) cases hold, (\d+) do not", log)
    return is_so("losses of PyTorch's cases", None if not held else int(held[1]) > 0 and held[2] == "0", "all hold",
                 held[0] if held else "")


def profile(day):
    seen = day.answer("profile", "compared") or {}
    difference, matched = seen.get("difference"), seen.get("matched_share")
    rows = at_most("kernel time beside Kineto's, %", None if difference is None else 100 * abs(difference), 1)
    rows += at_least("Kineto's kernel time found, %", None if matched is None else 100 * matched, 99)
    rows += is_so("NVTX ranges", bool(seen["nvtx_ranges"]) if seen else None, "recorded")
    return rows + recording(day, "profile", "pytorch")


def nccl(day):
    seen = day.answer("nccl", "two_hosts-inspected")
    ranks = seen["ranks"] if seen else []
    return is_so("two ranks train", day.has_passed("nccl", "two_hosts") or None, "yes") + is_so(
        "collectives in the recording", bool(ranks) and all(rank["communication_ns"] for rank in ranks) if seen else None,
        "yes")


def steps_passed(day, stage):
    """That none failed or hung, and which did."""
    verdicts = day.verdicts(stage)
    bad = [name for name, verdict in verdicts.items() if verdict != "passed"]
    if not verdicts:
        return is_so("steps", None, "all pass", "none was run")
    detail = f"{len(verdicts) - len(bad)} of {len(verdicts)}" + (": not " + ", ".join(bad) if bad else "")
    return is_so("steps", not bad, "all pass", detail)


OF_STAGE = {"smoke": smoke, "kernels": all_tests("kernels", ("aligned", "misaligned")), "speed": speed, "large": large,
            "memory": memory, "equality": equality, "calibrate": calibrate,
            "agreement": all_tests("agreement", ("agreement",)), "reference": reference, "profile": profile, "nccl": nccl}


def figures(day, stage):
    """An answer of another shape than expected costs the figures of its stage, not those of the day."""
    rows = steps_passed(day, stage)
    try:
        return rows + (OF_STAGE[stage](day) if stage in OF_STAGE else [])
    except (ArithmeticError, LookupError, TypeError, ValueError) as error:
        return rows + is_so("figures", None, "known", repr(error)[:60])
