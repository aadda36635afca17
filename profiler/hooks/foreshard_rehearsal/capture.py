"""What the last step does, for the step program that is made of it. The command reads four files, and the first two
and the last of them once more in a folder graph-N for each CUDA graph, from when it was captured:

  profile.json        PyTorch's own profile: operators with shapes, allocations, and the null device's
                      records of what each operator launched
  device.log          the device's log, which has what orders streams
  allocations.pickle  the allocator's own history since the device was first used
  operators.json      what the profile leaves out: {"operators": {external id: [name, path of the module
                      or null, whether that is computed again in a backward pass, arguments]},
                      "groups": [{"communicator": handle, "name": text, "ranks": [rank]}],
                      "tensors": {"parameters": [address], "gradients": [address],
                      "optimizer_states": [address]}}. An argument is a tensor, [address of its
                      storage, elements, type, sizes]; a list of those, whose sizes are empty; an
                      integer or a boolean; or null

Only the last step is profiled, since profiles slow the host down."""

import json
import os
import pickle
import sys
import typing

from foreshard_rehearsal import device, modules, record, settings

# Entries of the allocator's history: more than a few steps make; the buffer grows as it fills.
ALLOCATIONS = 10_000_000 if settings.CAPTURE else 1
_COPYING = ("aten::_to_copy", "aten::clone")
_DISPATCH_MODE = "PythonDispatchMode"  # the operator around it is the one that is called
_profiler = None
_folder = None  # where what is profiled now goes
_graphs = 0
_forward = {}  # modules by the sequence number of what they ran


class _Place(typing.NamedTuple):
    """Where an operator runs. What autograd does belongs to the module in which the operator ran that it
    differentiates, which has the same sequence number."""

    module: typing.Optional[str] = None
    is_backward: bool = False
    is_again: bool = False
    caller: str = ""  # the operator, where it says more of a copy than the copy itself


def begin():
    if settings.CAPTURE:
        _start(settings.CAPTURE)


def begin_graph():
    """What follows is captured into a CUDA graph. Within the last step the step's own profile has it."""
    global _graphs
    if not settings.CAPTURE or _profiler is not None:
        return
    _graphs += 1
    folder = os.path.join(settings.CAPTURE, f"graph-{_graphs}")
    os.makedirs(folder, exist_ok=True)
    _start(folder)


def end_graph():
    if _folder == settings.CAPTURE:
        return
    profiler = stop()
    if profiler is not None:
        _write(profiler)


def _start(folder):
    global _profiler, _folder
    torch = sys.modules["torch"]
    activities = torch.profiler.ProfilerActivity
    profiler = torch.profiler.profile(
        activities=[activities.CPU, activities.CUDA],
        record_shapes=True,
        profile_memory=True,
    )
    try:
        profiler.start()
    except RuntimeError as error:
        what = "the last step has no program" if folder == settings.CAPTURE else "a CUDA graph has no price"
        record.note(f"{what}, since it could not be profiled: {error}")
        return
    _folder = folder
    modules.begin()
    device.log(_path("device.log"))
    _profiler = profiler


def stop():
    """The profile, which is over; None where there was none. A process that ended with one would crash."""
    global _profiler
    profiler, _profiler = _profiler, None
    if profiler is not None:
        device.log(None)
        modules.end()
        with device.uncounted_waits():
            profiler.stop()
    return profiler


def end(optimizer):
    profiler = stop()
    if profiler is None:
        return
    with open(_path("allocations.pickle"), "wb") as file:
        pickle.dump(sys.modules["torch"].cuda.memory._snapshot(), file)
    _write(profiler, optimizer)
    record.facts()["captured"] = True


def _write(profiler, optimizer=None):
    profiler.export_chrome_trace(_path("profile.json"))
    tree = profiler.profiler.kineto_results.experimental_event_tree()
    with open(_path("operators.json"), "w", encoding="utf-8") as file:
        json.dump(
            {
                "operators": dict(_operators(tree)),
                "groups": list(_groups()),
                "tensors": _tensors(optimizer),
            },
            file,
        )


def _path(name):
    return os.path.join(_folder, name)


def _operators(roots):
    kinds = sys.modules["torch"]._C._profiler
    operator, of_autograd = kinds._EventType.TorchOp, kinds.RecordScope.BACKWARD_FUNCTION
    nodes = [(root, _Place()) for root in reversed(roots)]
    while nodes:
        node, place = nodes.pop()
        if node.tag == operator:
            number = node.extra_fields.sequence_number
            if node.name.startswith(modules.PREFIX):
                path = node.name[len(modules.PREFIX) :]
                place = _Place(path, place.is_backward, place.is_backward)
            elif node.extra_fields.scope == of_autograd:
                place = _Place(_forward.get(number, place.module), True)
            elif place.module is not None and number >= 0:
                _forward[number] = place.module
            if node.name != _DISPATCH_MODE:
                arguments = [_argument(value) for value in node.extra_fields.inputs]
                name = place.caller if node.name == "aten::copy_" and place.caller else node.name
                yield node.correlation_id, [name, place.module, place.is_again, arguments]
                place = place._replace(caller=node.name if node.name in _COPYING else "")
        nodes.extend((child, place) for child in reversed(node.children))


def _argument(value, has_sizes=True):
    if isinstance(value, list):
        return [_argument(element, has_sizes=False) for element in value]
    sizes = getattr(value, "sizes", None)
    if sizes is None:
        return value if isinstance(value, (bool, int)) else None
    elements = 1
    for size, stride in zip(sizes, value.strides):
        elements *= 1 if stride == 0 else size  # an expanded dimension is stored once
    kind = str(value.dtype)[len("torch.") :]
    return [value.storage_data_ptr or 0, elements, kind, list(sizes) if has_sizes else []]


def _tensors(optimizer):
    """What models and the optimizer hold, by the addresses of tensors on the device."""
    parameters = list(modules.parameters())
    states = []
    if optimizer is not None:
        parameters += (p for group in optimizer.param_groups for p in group["params"])
        states += (value for state in optimizer.state.values() for value in state.values())
    return {
        "parameters": list(_addresses(parameters)),
        "gradients": list(_addresses(p.grad for p in parameters)),
        "optimizer_states": list(_addresses(states)),
    }


def _addresses(tensors):
    for tensor in tensors:
        tensor = getattr(tensor, "_local_tensor", tensor)
        if getattr(tensor, "is_cuda", False):
            yield tensor.untyped_storage().data_ptr()


def _groups():
    """Of the process groups that have a communicator on the device."""
    module = sys.modules.get("torch.distributed.distributed_c10d")
    if module is None or not module.is_initialized():
        return
    torch = sys.modules["torch"]
    for group, ranks in module._world.pg_group_ranks.items():
        try:
            communicator = group._get_backend(torch.device("cuda"))._comm_ptr()
        except (AttributeError, RuntimeError):
            continue  # gloo's, or none was ever needed
        yield {
            "communicator": communicator,
            "name": getattr(group, "group_desc", "") or "",
            "ranks": sorted(ranks),
        }
