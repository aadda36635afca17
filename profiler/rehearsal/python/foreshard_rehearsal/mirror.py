"""What collectives on the device make of known integers: the other ranks hold what this one holds, as on the
host (host_group.py)."""

import sys

from foreshard_rehearsal import imports, ledger, record

_operation = None  # of the all_reduce that is running, which its operator does not show


def change(module):
    """`module` is torch.distributed.distributed_c10d."""
    imports.replace(module, "all_reduce", lambda original: _remembering(module, original))


def _remembering(module, original):
    def all_reduce(tensor, op=module.ReduceOp.SUM, group=None, async_op=False):
        global _operation
        _operation = op
        try:
            return original(tensor, op, group, async_op)
        finally:
            _operation = None

    return all_reduce


def results(func, args):
    """[(tensor, its host values after the collective, whether they are assumed)], of those that are known; None
    is the tensor that the collective returns."""
    make = _MAKE.get(func._schema.name)
    if make is None:
        return []
    found = [
        (target, values(), fact.assumed)
        for target, source, values in make(args)
        if (fact := _known(source)) is not None
    ]
    if found:
        record.note("integers that other ranks send are taken to be this rank's own")
    return found


def _known(source):
    if not ledger.is_exact(source) or source.numel() > ledger.MOST:
        return None
    return ledger.of(source)


def _values(source):
    return ledger.values(source, ledger.of(source)).clone()


def _gathered(args):
    for of_ranks, source in zip(args[0], args[1]):
        for target in of_ranks:
            yield target, source, lambda source=source: _values(source)


def _gathered_as_one(args):
    target, source = args[0], args[1]
    times = target.numel() // max(source.numel(), 1)
    yield target, source, lambda: _values(source).reshape(-1).repeat(times).view(target.shape)


def _broadcast(args):
    for tensor in args[0]:
        yield tensor, tensor, lambda tensor=tensor: _values(tensor)


def _reduced(args):
    if _operation is None:
        return
    c10d = sys.modules["torch"]._C._distributed_c10d
    ranks = c10d.ProcessGroup.unbox(args[1]).size() if _operation == c10d.ReduceOp.SUM else 1
    for tensor in args[0]:
        yield tensor, tensor, lambda tensor=tensor: _values(tensor) * ranks


def _exchanged(args):
    """What every rank sends to this one is what this one keeps for itself."""
    group = sys.modules["torch"]._C._distributed_c10d.ProcessGroup.unbox(args[2])
    yield from _exchanged_in(group, args[0], args[1], args[3], args[4], args[0].shape)


def _exchanged_and_returned(args):
    source, received, sent, name = args
    group = sys.modules["torch.distributed.distributed_c10d"]._resolve_process_group(name)
    yield from _exchanged_in(group, None, source, received, sent, (sum(received), *source.shape[1:]))


def _exchanged_in(group, target, source, received, sent, shape):
    ranks = group.size()
    sent = list(sent) or [source.shape[0] // ranks] * ranks
    own = sent[group.rank()]
    if list(received) in ([], [own] * ranks):
        begin = sum(sent[: group.rank()])
        yield target, source, lambda: _values(source)[begin : begin + own].repeat(
            ranks, *[1] * (source.dim() - 1)
        ).view(shape)


_MAKE = {
    "c10d::allgather_": _gathered,
    "c10d::_allgather_base_": _gathered_as_one,
    "c10d::broadcast_": _broadcast,
    "c10d::allreduce_": _reduced,
    "c10d::alltoall_base_": _exchanged,
    "_c10d_functional::all_to_all_single": _exchanged_and_returned,
}
