#!/usr/bin/env python3
"""Counts what is in Kineto recordings, independently of the importer: one JSON object a file, a line each, to stdout."""
import collections
import decimal
import gzip
import json
import re
import sys

DEVICE = ("kernel", "gpu_memcpy", "gpu_memset", "memcpy", "memset")


def nanoseconds(value):
    """exact, from the text of the number"""
    return int((decimal.Decimal(value) * 1000).to_integral_value(decimal.ROUND_HALF_UP))


def memory(events):
    """of each allocator: the level before the first instant, after the last, and the highest"""
    out = {}
    instants = [e for e in events if e.get("name") == "[memory]" and "Total Allocated" in e.get("args", {})]
    for on_host in (False, True):
        mine = [e["args"] for e in sorted(instants, key=lambda e: decimal.Decimal(e["ts"])) if (e["args"]["Device Type"] == "0") == on_host]
        if mine:
            levels = [int(a["Total Allocated"]) for a in mine]
            out["host" if on_host else "device"] = {
                "instants": len(mine), "peak": max(levels), "last": levels[-1],
                "allocated": sum(int(a["Bytes"]) for a in mine if int(a["Bytes"]) > 0),
                "reserved": max(int(a["Total Reserved"]) for a in mine),
            }
    return out


def count(path):
    with gzip.open(path, "rt", encoding="utf-8", errors="replace") as f:
        recording = json.load(f, parse_float=str, parse_int=str, strict=False)
    events = recording if isinstance(recording, list) else recording["traceEvents"]
    base = 0 if isinstance(recording, list) else int(recording.get("baseTimeNanoseconds", 0))
    complete = [e for e in events if e.get("ph") == "X" and "dur" in e]
    categories = collections.Counter(e.get("cat", "") for e in complete)
    device = [e for e in complete if e.get("cat", "").lower() in DEVICE]
    kernels = [e for e in device if not e["name"].startswith(("Memcpy", "Memset"))]
    end = lambda e: nanoseconds(decimal.Decimal(e["ts"]) + decimal.Decimal(e["dur"]))
    steps = [e for e in complete if e["name"].startswith("ProfilerStep#") and e.get("cat") != "gpu_user_annotation"]
    return {
        "events": sum(n for c, n in categories.items() if c != "Trace"),
        "categories": categories,
        "device_events": len(device),
        "kernels": len(kernels),
        "collectives": sum(bool(re.search(r"nccl|multimem|\bep::(inter|intra)node", e["name"], re.I)) for e in kernels),
        "kernel_ns": sum(end(e) - nanoseconds(e["ts"]) for e in kernels),
        "first_ns": base + min((nanoseconds(e["ts"]) for e in complete if e.get("cat") != "Trace"), default=0),
        "device_first_ns": base + min((nanoseconds(e["ts"]) for e in device), default=0),
        "device_last_ns": base + max((end(e) for e in device), default=0),
        "steps": {e["name"][13:]: [base + nanoseconds(e["ts"]), base + end(e)] for e in steps},
        "memory": memory(events),
    }


for path in sys.argv[1:]:
    print(json.dumps({"file": path, **count(path)}))
