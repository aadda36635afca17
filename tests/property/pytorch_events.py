"""Prints what a written form of PyTorch's rules predicts that a rank's caching allocator is asked for.

    pytorch_events.py operator_rules.py < CASES > EVENTS

CASES: one JSON object a line, in the words of that script and with the model's `config` and the
PyTorch `version` beside them. EVENTS: for each case the line `case`, then, in the order of the host
and for each of the steps 1 to 3, a line a request: `+ BYTES STREAM`, or `- N` for a free of the Nth
allocation, counted from 0. A case that the script does not describe is the line `case` and a line
`! REASON`."""
import importlib.util
import json
import os
import sys

STEPS = 3


def load(path):
    spec = importlib.util.spec_from_file_location("rules", path)
    rules = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(rules)
    return rules


def events(rules, case):
    version = tuple(map(int, case.pop("version").split(".")))
    run = rules.FSDP2(case, case.pop("config"), version)
    run.build()
    for unit in run.order:
        unit.clones = None
    for step in range(1, STEPS + 1):
        run.step(step)
    return run.ev


def main():
    rules = load(sys.argv[1])
    for line in sys.stdin:
        try:
            found = events(rules, json.loads(line))
            text = [f"+ {e[2]} {e[3]}" if e[0] == "+" else f"- {e[1]}" for e in found]
        except (NotImplementedError, AssertionError) as reason:
            text = [f"! {reason!r}"]
        print("\n".join(["case", *text]))


try:
    main()
except BrokenPipeError:
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
