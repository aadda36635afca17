"""Loads two memory snapshots with Python's own pickle and prints where they first differ in what
PyTorch's tools show, or "equal"."""

import pickle
import sys

SEGMENT = ("device", "address", "total_size", "allocated_size", "active_size", "requested_size",
           "stream", "segment_type", "is_expandable")
BLOCK = ("address", "size", "requested_size", "state", "frames")
EVENT = ("action", "addr", "device_free", "size", "stream", "time_us", "frames")
SETTINGS = ("expandable_segments", "max_split_size", "garbage_collection_threshold",
            "per_process_memory_fraction", "roundup_power2_divisions")


def picked(record, keys):
    return {key: record[key] for key in keys if key in record}


def shown(path):
    with open(path, "rb") as file:
        snapshot = pickle.load(file)
    segments = sorted(snapshot["segments"], key=lambda s: (s["device"], s["address"]))
    yield "settings", picked(snapshot.get("allocator_settings", {}), SETTINGS)
    for segment in segments:
        yield "segment", picked(segment, SEGMENT)
        for block in segment["blocks"]:
            yield "block", {"frames": [], **picked(block, BLOCK)}
    for events in snapshot["device_traces"]:
        for event in events:
            if event["action"] != "snapshot":
                yield "event", {"frames": [], **picked(event, EVENT)}


mine, theirs = (list(shown(path)) for path in sys.argv[1:])
different = [pair for pair in zip(mine, theirs) if pair[0] != pair[1]]
if different:
    print(*different[0], sep="\n")
elif len(mine) != len(theirs):
    print(len(mine), "records and", len(theirs))
else:
    print("equal")
