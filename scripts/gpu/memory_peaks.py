#!/usr/bin/env python3
"""Records the memory peaks of the reference's training steps on the GPU of this machine, as many cases at once as fit.

  memory_peaks.py REFERENCE OUT [--seconds S] [--budget-gib G] [--jobs N] [--only REGEX] [--null]

Runs the cases of REFERENCE/cases.json, and some of those with flash attention a second time with cuDNN's, whose ids
end in `_cudnn`. Writes OUT/peaks_real.csv, one line per case and step with the columns of REFERENCE/peaks.csv, after
each case; and OUT/events/ID.jsonl.gz, every allocator event, for the cases with `events`. Cases with events come
first, then flash attention, then the smaller ones; when S seconds have passed the rest is left out. Needs PyTorch 2.6
or newer."""
import argparse
import csv
import json
import os
import re
import select
import time

import memory_reference

CONTEXT_BYTES = 700 << 20       # what a process takes outside the allocator
UNEXPECTED_BYTES = 16 << 30     # for a case that peaks.csv lacks
CUDNN_BYTES = 512 << 20         # more that cuDNN's attention may take
WITH_CUDNN = ("ev", "1b_", "8bs_base", "mix")
WITH_CUDNN_TOO = ("8b_base", "8b_hf", "8b_ac_full", "8b_repeat_kv", "w1_1b", "w1_1b_hf")


def recorded_peaks(path):
    """The most that each case reserved in the reference, by id."""
    peaks = {}
    with open(path) as file:
        for row in csv.DictReader(file):
            peaks[row["id"]] = max(peaks.get(row["id"], 0), int(row["peak_reserved"]))
    return peaks


def has_cudnn_variant(case):
    return (case["sdpa"] == "flash" and case["precision"] != "fp32"
            and (case["id"].startswith(WITH_CUDNN) or case["id"] in WITH_CUDNN_TOO))


def cases_in_order(reference, folder, only):
    """The cases, each with the bytes it is expected to take, those first that reveal most."""
    with open(os.path.join(folder, "cases.json")) as file:
        cases = json.load(file)
    peaks = recorded_peaks(os.path.join(folder, "peaks.csv"))
    chosen = [(case, peaks.get(case["id"], UNEXPECTED_BYTES)) for case in cases]
    chosen += [(dict(case, id=case["id"] + "_cudnn", sdpa="cudnn"), peaks.get(case["id"], 0) + CUDNN_BYTES)
               for case in cases if has_cudnn_variant(reference.full(case))]

    def order(entry):
        case, size = entry
        events, cudnn = case["id"].startswith("ev"), "cudnn" in case["id"]
        return not events, cudnn and not events, size

    return sorted((entry for entry in chosen if re.search(only, entry[0]["id"])), key=order)


class Running:
    """A case in a process of its own; its answer comes as JSON through a pipe."""

    def __init__(self, case, size, work):
        self.case = case
        self.size = size
        self.parts = []
        self.pipe, writing = os.pipe()
        self.pid = os.fork()
        if self.pid == 0:
            os.close(self.pipe)
            self.answer(work, writing)
        os.close(writing)

    @staticmethod
    def answer(work, pipe):
        start = time.time()
        try:
            answer = work()
        except BaseException as error:  # whatever it is, the parent prints it
            answer = dict(error=repr(error))
        with os.fdopen(pipe, "w") as file:
            json.dump(dict(answer, seconds=time.time() - start), file)
        os._exit(0)

    def read(self):
        """True when the process has ended."""
        data = os.read(self.pipe, 1 << 20)
        if data:
            self.parts.append(data)
            return False
        os.close(self.pipe)
        os.waitpid(self.pid, 0)
        return True

    def result(self):
        return json.loads(b"".join(self.parts) or b'{"error": "died"}')


class Recording:
    """Runs cases beside each other and writes what they answer."""

    def __init__(self, reference, options):
        self.reference = reference
        self.out = options.out
        self.budget = options.budget_gib * 2**30
        self.jobs = options.jobs
        self.until = time.time() + options.seconds
        self.running = {}
        self.rows, self.failed, self.too_large = [], [], []

    def launch(self, todo):
        """Starts what there is room for, and returns the rest. One case runs however large it is."""
        left = []
        for case, size in todo:
            need = size + CONTEXT_BYTES
            used = sum(process.size for process in self.running.values())
            if need > self.budget + (4 << 30):
                self.too_large.append(case["id"])
            elif len(self.running) < self.jobs and (not self.running or used + need <= self.budget):
                process = Running(case, need, lambda: self.reference.do_case(case, self.out))
                self.running[process.pipe] = process
            else:
                left.append((case, size))
        return left

    def collect(self):
        for pipe in select.select(list(self.running), [], [], 1)[0]:
            if self.running[pipe].read():
                self.take(self.running.pop(pipe))

    def take(self, process):
        name, answer = process.case["id"], process.result()
        if "error" in answer:
            self.failed.append(name)
            print(name, "FAILED", answer["error"].strip().splitlines()[-1][:300], flush=True)
            return
        self.rows += answer["ok"]
        print(f"{name:30} {answer['seconds']:5.1f}s {answer.get('events', '')}", flush=True)
        with open(os.path.join(self.out, "peaks_real.csv"), "w", newline="") as file:
            writer = csv.DictWriter(file, self.reference.COLUMNS, extrasaction="ignore", lineterminator="\n")
            writer.writeheader()
            writer.writerows(self.rows)

    def run(self, todo):
        """Returns what was not run."""
        while self.running or (todo and time.time() < self.until):
            if time.time() < self.until:
                todo = self.launch(todo)
            self.collect()
        return todo


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    memory_reference.add_arguments(parser)
    parser.add_argument("--budget-gib", type=float, default=70, help="device memory that all running cases may take")
    parser.add_argument("--jobs", type=int, default=14, help="most cases at once")
    options = parser.parse_args()
    start = time.time()
    reference = memory_reference.load(options.reference, options.null)
    os.makedirs(os.path.join(options.out, "events"), exist_ok=True)
    recording = Recording(reference, options)
    left = recording.run(cases_in_order(reference, options.reference, options.only))
    print(f"{len(recording.rows)} rows, failed {recording.failed}, not run {[case['id'] for case, _ in left]}, "
          f"too large {recording.too_large}, {time.time() - start:.0f} s")


if __name__ == "__main__":
    main()
