#!/usr/bin/env python3
"""Memory and time of each step of somebody's training script on the GPU of this machine: what its rehearsal is held
against.

  script_steps.py OUT.jsonl [--steps N] [--history FILE.pickle] SCRIPT [ARGUMENT...]

SCRIPT runs unmodified, as the only rank of a job, under the variables that torchrun sets. A step ends when the first
optimizer that steps has stepped, as in a rehearsal; after N of them (12) the script is ended. Appends one line to
OUT.jsonl: the command and, of each step, the peaks of torch.cuda.memory_stats() in bytes and the seconds from the step
before it on the GPU (`device_s`, between events) and on the host (`host_s`). Nothing waits for the GPU that would not
without it. FILE.pickle is the allocator's history of these steps as a snapshot of PyTorch; it costs the host time."""
import argparse
import json
import os
import runpy
import sys
import time

import torch
from torch.optim.optimizer import register_optimizer_step_post_hook

PEAKS = {f"peak_{kind}_bytes": f"{kind}_bytes.all.peak" for kind in ("active", "allocated", "reserved")}
TORCHRUN = {"RANK": "0", "LOCAL_RANK": "0", "WORLD_SIZE": "1", "LOCAL_WORLD_SIZE": "1", "GROUP_RANK": "0",
            "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "29511"}


class Steps:
    def __init__(self, count, end):
        self.count, self.end = count, end
        self.optimizer = None
        self.rows, self.events, self.times = [], [], []

    def stepped(self, optimizer, _arguments, _named):
        self.optimizer = self.optimizer or optimizer
        if optimizer is not self.optimizer:
            return
        statistics = torch.cuda.memory_stats()
        self.rows.append({name: statistics[key] for name, key in PEAKS.items()})
        torch.cuda.reset_peak_memory_stats()
        self.events.append(torch.cuda.Event(enable_timing=True))
        self.events[-1].record()
        self.times.append(time.perf_counter())
        if len(self.rows) == self.count:
            self.end()

    def timed_rows(self):
        torch.cuda.synchronize()
        for index in range(1, len(self.rows)):
            self.rows[index]["device_s"] = self.events[index - 1].elapsed_time(self.events[index]) / 1e3
            self.rows[index]["host_s"] = self.times[index] - self.times[index - 1]
        return self.rows


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out")
    parser.add_argument("--steps", type=int, default=12)
    parser.add_argument("--history", metavar="FILE.pickle")
    parser.add_argument("script")
    parser.add_argument("arguments", nargs=argparse.REMAINDER)
    options = parser.parse_args()

    def end():
        row = {"command": [os.path.basename(options.script), *options.arguments],
               "gpu": torch.cuda.get_device_name(), "torch": torch.__version__, "steps": steps.timed_rows()}
        with open(options.out, "a") as out:
            out.write(json.dumps(row) + "\n")
        if options.history:
            torch.cuda.memory._dump_snapshot(options.history)
        print(f"{' '.join(row['command'])}: {len(steps.rows)} steps", flush=True)
        os._exit(0)

    if options.history:
        torch.cuda.memory._record_memory_history(max_entries=1_000_000, stacks="python")
    steps = Steps(options.steps, end)
    register_optimizer_step_post_hook(steps.stepped)
    os.environ.update(TORCHRUN)
    sys.argv = [options.script, *options.arguments]
    sys.path[0] = os.path.dirname(os.path.abspath(options.script))
    runpy.run_path(options.script, run_name="__main__")
    end()


if __name__ == "__main__":
    main()
