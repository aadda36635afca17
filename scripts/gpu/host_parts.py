#!/usr/bin/env python3
"""Processor time that PyTorch's host takes for the parts of a training step, one process per case.

  host_parts.py REFERENCE OUT [--seconds S] [--only REGEX] [--null]

Appends to OUT/host_parts.jsonl one line per case: milliseconds of forward, backward and optimizer (clipping
included) in an undisturbed step, the lower eighth of 24. With --null, on a device that computes nothing,
that is all of a step's time. scripts/host_times learns the catalogue's host times from it."""
import argparse
import json
import os
import re
import sys
import time

import memory_reference
import torch

WARM_UP_STEPS, STEPS = 3, 24


class Clock:
    """Processor time by part of the step: a part lasts until the next one begins."""

    def __init__(self):
        self.part, self.since, self.ms = "", 0.0, {}

    def begin(self, part):
        now = time.process_time()
        self.ms[self.part] = self.ms.get(self.part, 0.0) + 1e3 * (now - self.since)
        self.part, self.since = part, now

    def during(self, part, function, then):
        def timed(*args, **kwargs):
            self.begin(part)
            try:
                return function(*args, **kwargs)
            finally:
                self.begin(then)
        return timed


def time_parts(case, one_step, out):
    clock = Clock()
    torch.Tensor.backward = clock.during("backward", torch.Tensor.backward, "forward")
    torch.nn.utils.clip_grad_norm_ = clock.during("optimizer", torch.nn.utils.clip_grad_norm_, "optimizer")
    for optimizer in (torch.optim.AdamW, torch.optim.SGD):
        optimizer.step = clock.during("optimizer", optimizer.step, "optimizer")
    steps = []
    for step in range(WARM_UP_STEPS + STEPS):
        torch.cuda.synchronize()
        clock.begin("forward")
        clock.ms = {}
        one_step()
        clock.begin("")
        if step >= WARM_UP_STEPS:
            steps.append(dict(clock.ms))
    return {part: sorted(step[part] for step in steps)[STEPS // 8] for part in steps[0]}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    memory_reference.add_arguments(parser)
    options, arguments = parser.parse_args(), sys.argv
    reference = memory_reference.load(options.reference, options.null)
    if options.null:
        sys.argv = arguments
        reference.rerun_with_null_cuda()
    reference.time_steps = time_parts
    reference.CONFIG_FOLDERS.append(os.path.join(options.reference, "configs"))
    os.makedirs(options.out, exist_ok=True)
    end = time.time() + options.seconds
    for case in json.load(open(os.path.join(options.reference, "cases.json"))):
        if not re.search(options.only, case["id"]) or time.time() > end:
            continue
        whole = reference.full(case)
        answer = reference.child(lambda: (reference.set_environment(whole), reference.run_case(
            whole, labels=False, timing=options.out))[1])
        line = json.dumps(dict(id=case["id"], **answer.get("ok", answer)))
        print(line, flush=True)
        with open(os.path.join(options.out, "host_parts.jsonl"), "a") as file:
            file.write(line + "\n")


if __name__ == "__main__":
    main()
