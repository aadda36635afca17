"""Steps: one ends when the first optimizer that ever steps has stepped. PyTorch's peaks are read and reset
there, and the device's counts with them; after the last step that was asked for the process ends."""

import sys

from foreshard_rehearsal import capture, device, graphs, imports, record, settings

_PEAKS = {
    "peak_active_bytes": "active_bytes.all.peak",
    "peak_allocated_bytes": "allocated_bytes.all.peak",
    "peak_reserved_bytes": "reserved_bytes.all.peak",
}
_counting = []  # the optimizer whose steps count; kept, so that no other takes its identity
_parameters = []  # that it stepped first: DeepSpeed's steps each group of them by itself


def install():
    graphs.install(_end)
    imports.after(
        "torch.optim.optimizer",
        lambda module: module.register_optimizer_step_post_hook(_stepped),
    )


def _stepped(optimizer, _arguments, _named):
    if sys.modules["torch"].cuda.is_initialized() and not graphs.holds_step(optimizer):
        _end(optimizer)


def _end(optimizer):
    stepped = [p for group in optimizer.param_groups for p in group["params"]]
    if not _counting:
        _counting.append(optimizer)
        _parameters.extend(stepped)
    if _counting[0] is not optimizer or {*map(id, stepped)}.isdisjoint(map(id, _parameters)):
        return
    torch = sys.modules["torch"]
    statistics = torch.cuda.memory_stats()
    torch.cuda.reset_peak_memory_stats()
    steps = record.facts()["steps"]
    step = {"step": len(steps) + 1}
    step.update({name: statistics[key] for name, key in _PEAKS.items()})
    step.update(device.counts())
    steps.append(step)
    device.mark(f"step {step['step']}")
    if len(steps) >= settings.STEPS:
        capture.end(optimizer)
        record.leave(0)
    if len(steps) == settings.STEPS - 1:
        capture.begin()
    record.write()
