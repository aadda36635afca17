#!/usr/bin/env python3
"""Compares measured with predicted memory: compare_memory.py FOLDER

For every NAME-measured.json of `foreshard train` and NAME-predicted.json of `foreshard predict` in FOLDER, prints how
many peaks (each rank's and each step's, allocated, reserved, active and of the host) differ. Exit status 1 if any does."""
import json
import pathlib
import sys

FIELDS = ("peak_allocated_bytes", "peak_reserved_bytes", "peak_active_bytes", "peak_host_bytes")


def peaks(answer):
    """{(rank, step or "run", field): bytes}"""
    out = {}
    for table in ("ranks_memory", "steps_memory"):
        for row in answer[table]:
            for field in FIELDS:
                if field in row:
                    out[row["rank"], row.get("step", "run"), field] = row[field]
    return out


def main():
    folder = pathlib.Path(sys.argv[1])
    wrong = 0
    for measured in sorted(folder.glob("*-measured.json")):
        name = measured.name.removesuffix("-measured.json")
        predicted = folder / f"{name}-predicted.json"
        if not predicted.exists():
            print(f"{name}: no prediction")
            wrong += 1
            continue
        a, b = (peaks(json.loads(file.read_text())) for file in (measured, predicted))
        off = {key: a.get(key, 0) - b.get(key, 0) for key in a.keys() | b.keys() if a.get(key) != b.get(key)}
        worst = max(off.values(), key=abs, default=0)
        print(f"{name}: {len(off)} of {len(a)} peaks differ, by up to {worst} bytes")
        wrong += len(off)
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
