"""Where memory ran out: which operator of which module asked for how much, and the line of the script.

PyTorch's allocator calls an observer at the moment of the failure, before it raises. The operator is read
from the call stack, so that nothing has to be watched before."""

import re
import sys

from foreshard_hooks import imports
from foreshard_rehearsal import capture, module_calls, record, settings, user_code

# Operators that other operators allocate their results with.
_ALLOCATING = re.compile(r"(empty|new_empty|empty_like|empty_strided|empty_permuted|resize)_?$")


def install():
    imports.after("torch", lambda torch: torch.cuda._lazy_call(_watch))


def _watch():
    torch = sys.modules["torch"]
    torch._C._cuda_attach_out_of_memory_observer(_observed)
    # The last entry has the size of the request that failed; a captured step needs all of them.
    torch.cuda.memory._record_memory_history(
        "all", context=None, stacks="python", max_entries=capture.ALLOCATIONS
    )


def _observed(device, segment_bytes, _total_bytes, _free_bytes):
    torch = sys.modules["torch"]
    statistics = torch.cuda.memory_stats(device)
    facts = record.facts()
    facts["refused_allocation"] = {
        "step": len(facts["steps"]) + 1,
        "rank": settings.RANK,
        "operator": _operator(),
        "module": _module(),
        "where": user_code.line(),
        "requested_bytes": _requested(device) or segment_bytes,
        "allocated_bytes": statistics["allocated_bytes.all.current"],
        "reserved_bytes": statistics["reserved_bytes.all.current"],
    }
    record.write()


def _requested(device):
    traces = sys.modules["torch"].cuda.memory._snapshot(device).get("device_traces", [])
    entries = traces[device] if device < len(traces) else []
    return entries[-1]["size"] if entries and entries[-1]["action"] == "oom" else None


def _operator():
    """"aten::mul": the innermost operator that does more than allocate; else the innermost; else None."""
    profiler = sys.modules["torch"]._C._profiler
    names = []
    for frame in profiler.symbolize_tracebacks([profiler.gather_traceback(False, False, True)])[0]:
        called = re.match(r"at::_ops::(\w+)::(?:call|redispatch)\(", frame["name"])
        if called and (name := _without_overload(called[1])) is not None:
            names.append(name)
    telling = [name for name in names if not _ALLOCATING.search(name)]
    return (telling or names or [None])[0]


def _without_overload(joined):
    """"mul_Tensor" is the overload Tensor of aten::mul; which part is which only the registry knows."""
    find = sys.modules["torch"]._C._dispatch_find_schema_or_throw
    for split in [len(joined)] + [i for i, letter in enumerate(joined) if letter == "_"]:
        try:
            find(f"aten::{joined[:split]}", joined[split + 1 :])
            return f"aten::{joined[:split]}"
        except RuntimeError:
            continue
    return None


def _module():
    """The path of the innermost module whose code runs, or in a backward pass whose code made what runs, from
    the outermost one; None outside of all."""
    modules = (
        _running(user_code.own_frames())
        or module_calls.around_running_node()
        or _running(user_code.frames())
    )
    if not modules:
        return None
    # A part that is computed again is called by itself.
    for root in (modules[-1], *module_calls.latest()):
        for name, module in root.named_modules():
            if module is modules[0] and name:
                return name
    return ""


def _running(frames):
    """The modules whose methods run there, innermost first."""
    module_class = sys.modules["torch"].nn.Module
    return [
        owner
        for frame in frames
        if frame.f_code.co_name != "__init__"
        and isinstance(owner := frame.f_locals.get("self"), module_class)
    ]


def of_the_end():
    """The allocation whose failure ended the script, or None."""
    error = getattr(sys, "last_value", None)
    torch = sys.modules.get("torch")
    seen = set()
    while error is not None and torch is not None and id(error) not in seen:
        if isinstance(error, torch.OutOfMemoryError):
            return record.facts()["refused_allocation"]
        seen.add(id(error))
        error = error.__cause__ or error.__context__
    return None
