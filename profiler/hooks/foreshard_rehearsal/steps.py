"""At the end of each step PyTorch's peaks are read and reset, and the device's counts with them; after the last
step that was asked for the process ends."""

import sys

from foreshard_hooks import steps
from foreshard_rehearsal import capture, device, record, settings

_PEAKS = {
    "peak_active_bytes": "active_bytes.all.peak",
    "peak_allocated_bytes": "allocated_bytes.all.peak",
    "peak_reserved_bytes": "reserved_bytes.all.peak",
}


def install():
    steps.after_each(_end)


def _end(optimizer):
    torch = sys.modules["torch"]
    statistics = torch.cuda.memory_stats()
    torch.cuda.reset_peak_memory_stats()
    ended = record.facts()["steps"]
    step = {"step": len(ended) + 1}
    step.update({name: statistics[key] for name, key in _PEAKS.items()})
    step.update(device.counts())
    ended.append(step)
    device.mark(f"step {step['step']}")
    if len(ended) >= settings.STEPS:
        capture.end(optimizer)
        record.leave(0)
    if len(ended) == settings.STEPS - 1:
        capture.begin()
    record.write()
