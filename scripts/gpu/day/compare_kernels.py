#!/usr/bin/env python3
"""Compares the kernels of a trace of `foreshard profile` with those of a Kineto recording of the same work.

  compare_kernels.py TRACE.fst KINETO.json.gz

Prints one JSON object: the number of kernels in each; the share of Kineto's kernel time whose kernels are in both by
name; the relative difference of these kernels' time, each name by its median duration; the NVTX ranges of the trace.
Exit status 1 if no kernel is in both."""
import collections
import gzip
import json
import sqlite3
import statistics
import sys


def durations(rows):
    """{name without spaces: [ns, ...]}"""
    kernels = collections.defaultdict(list)
    for name, ns in rows:
        kernels[name.replace(" ", "")].append(ns)
    return kernels


def of_trace(trace):
    return durations(trace.execute("SELECT s.value, k.\"end\" - k.start FROM CUPTI_ACTIVITY_KIND_KERNEL k "
                                   "JOIN StringIds s ON s.id = k.demangledName"))


def of_kineto(path):
    with gzip.open(path) as file:
        events = json.load(file)["traceEvents"]
    return durations((event["name"], event["dur"] * 1e3) for event in events if event.get("cat") == "kernel")


def main():
    trace = sqlite3.connect(f"file:{sys.argv[1]}?mode=ro", uri=True)
    ours, theirs = of_trace(trace), of_kineto(sys.argv[2])
    both = [name for name in theirs if len(ours.get(name, ())) == len(theirs[name])]
    at_median = [sum(len(side[name]) * statistics.median(side[name]) for name in both) for side in (ours, theirs)]
    whole = sum(map(sum, theirs.values()))
    print(json.dumps({
        "kernels": sum(map(len, ours.values())), "kineto_kernels": sum(map(len, theirs.values())),
        "matched_share": sum(sum(theirs[name]) for name in both) / whole if whole else 0,
        "difference": at_median[0] / at_median[1] - 1 if both else None,
        "nvtx_ranges": trace.execute("SELECT count(*) FROM NVTX_EVENTS").fetchone()[0]}))
    sys.exit(0 if both else 1)


if __name__ == "__main__":
    main()
