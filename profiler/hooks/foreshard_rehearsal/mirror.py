"""What collectives on the device make of known integers: every rank holds what this one holds, as on the host
(host_group.py), unless it runs too (peers.py)."""

import sys
from typing import Any, NamedTuple

from foreshard_hooks import imports
from foreshard_rehearsal import ledger, peers, record, settings

_operation = None  # of the all_reduce that is running, which its operator does not show


class _Known(NamedTuple):
    values: Any  # a host tensor
    assumed: bool


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


def follows(func):
    """Whether results() says anything of this operator."""
    return func._schema.name in _MAKE


def results(func, args):
    """[(tensor, its host values after the collective, whether they are assumed)], of those that are known; None
    is the tensor that the collective returns."""
    return [
        (target, known.values, known.assumed)
        for target, known in _MAKE[func._schema.name](args)
        if known is not None
    ]


def _group(boxed):
    return sys.modules["torch"]._C._distributed_c10d.ProcessGroup.unbox(boxed)


def _own(source):
    """What this rank brings; None where nobody knows it."""
    fact = ledger.of(source) if source.is_cuda and source.numel() <= ledger.MOST else None
    return fact and _Known(ledger.values(source, fact).clone(), fact.assumed)


def _noted(ranks, known):
    if known is not None and not all(rank == settings.RANK or peers.is_other(rank) for rank in ranks):
        record.note("integers that other ranks send are taken to be this rank's own")
    return known


def _of_all(group, source):
    """What each rank brings, in the order of the group."""
    ranks = peers.global_ranks(group)
    if not ledger.is_exact(source):
        return [None] * len(ranks)
    return peers.of_all(ranks, _noted(ranks, _own(source)))


def _joined(target, brought, join):
    """One known tensor of several; None where one of them is unknown."""
    if any(known is None for known in brought) or target is not None and target.numel() > ledger.MOST:
        return None
    return _Known(join([known.values for known in brought]), any(known.assumed for known in brought))


def _gathered(args):
    group = _group(args[2])
    for of_ranks, source in zip(args[0], args[1]):
        yield from zip(of_ranks, _of_all(group, source))


def _gathered_as_one(args):
    target, source = args[0], args[1]
    torch = sys.modules["torch"]

    def join(values):
        return torch.cat([value.reshape(-1) for value in values]).view(target.shape)

    yield target, _joined(target, _of_all(_group(args[2]), source), join)


def _broadcast(args):
    group, root = _group(args[1]), args[2]
    ranks = peers.global_ranks(group)
    for tensor in args[0]:
        if ledger.is_exact(tensor):
            own = _own(tensor)
            is_own = ranks[root] == settings.RANK
            yield tensor, peers.from_one(ranks, ranks[root], own if is_own else _noted(ranks, own))


def _reduced(args):
    if _operation is None:
        return
    for tensor in args[0]:
        brought = _of_all(_group(args[1]), tensor)
        yield tensor, _joined(tensor, brought, lambda values: reduced(_operation, values))


def reduced(operation, values):
    """The host tensors of all ranks, as the operation makes them one."""
    torch = sys.modules["torch"]
    kinds = torch._C._distributed_c10d.ReduceOp
    first = values[0]
    is_sum = operation == kinds.SUM
    adds = is_sum and first.dtype != torch.bool
    if all(value is first for value in values):
        return first * len(values) if adds else first
    joined = torch.stack(values)
    if adds:
        return joined.sum(0).to(first.dtype)
    if is_sum or operation == kinds.MAX:
        return joined.amax(0)
    return joined.amin(0) if operation == kinds.MIN else first


def _exchanged(args):
    yield from _exchanged_in(_group(args[2]), args[0], args[1], args[3], args[4], args[0].shape)


def _exchanged_and_returned(args):
    source, received, sent, name = args
    group = sys.modules["torch.distributed.distributed_c10d"]._resolve_process_group(name)
    yield from _exchanged_in(group, None, source, received, sent, (sum(received), *source.shape[1:]))


def _exchanged_in(group, target, source, received, sent, shape):
    """What a rank that does not run sends to this one is what this one keeps for itself."""
    if not ledger.is_exact(source):
        return
    ranks = peers.global_ranks(group)
    place, count = group.rank(), len(ranks)
    sent = list(sent) or [source.shape[0] // count] * count
    own = _noted(ranks, _own(source))
    parts = own and [_Known(part.clone(), own.assumed) for part in own.values.split(sent)]
    brought = [of_rank and of_rank[place] for of_rank in peers.of_all(ranks, parts)]
    sizes = [known.values.shape[0] for known in brought if known]
    if list(received) in ([], sizes):
        torch = sys.modules["torch"]
        yield target, _joined(target, brought, lambda values: torch.cat(values).view(shape))


def _sent(args):
    """Transfers have nothing to say here; a rank that runs hears what is sent to it."""
    ranks = peers.global_ranks(_group(args[1]))
    for tensor in args[0]:
        if ledger.is_exact(tensor):
            peers.send(_own(tensor), ranks[args[2]], args[3])
    return ()


def _received(args):
    source = peers.global_ranks(_group(args[1]))[args[2]]
    for tensor in args[0]:
        if ledger.is_exact(tensor) and peers.is_other(source):
            yield tensor, peers.receive(source, args[3])


_MAKE = {
    "c10d::allgather_": _gathered,
    "c10d::_allgather_base_": _gathered_as_one,
    "c10d::broadcast_": _broadcast,
    "c10d::allreduce_": _reduced,
    "c10d::alltoall_base_": _exchanged,
    "_c10d_functional::all_to_all_single": _exchanged_and_returned,
    "c10d::send": _sent,
    "c10d::recv_": _received,
}
