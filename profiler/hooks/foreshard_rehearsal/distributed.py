"""Process groups of a job of which one rank exists: NCCL's are real, over the null device's; those on the
host mirror this rank; the store has heard from everybody."""

import os
import sys

from foreshard_hooks import imports
from foreshard_rehearsal import buckets, device, host_group, mirror, objects, record, settings, store

_kept = []  # stores: a group does not keep the Python side of its own


def install():
    imports.after("torch.distributed.distributed_c10d", _change)


def end():
    """Before the interpreter ends, whose stores NCCL's watching threads would go on to ask."""
    module = sys.modules.get("torch.distributed.distributed_c10d")
    if module is None or not module.is_initialized():
        return
    try:
        module.destroy_process_group()
    except (RuntimeError, AssertionError):
        pass  # the script had taken a group apart


def _change(module):
    if not hasattr(module, "ProcessGroup"):
        return  # a build without torch.distributed
    group = host_group.make(module)
    module.Backend.register_backend(
        "foreshard_host",
        lambda prefix, rank, size, timeout: group(prefix, rank, size, timeout),
        devices=["cpu"],
    )
    imports.replace(module, "init_process_group", lambda original: _init(module, original))
    imports.replace(module, "new_group", _new_group)
    imports.replace(module, "get_backend", _get_backend)
    if hasattr(module.ProcessGroup, "split_group"):
        imports.replace(module.ProcessGroup, "split_group", _split)
    else:  # older releases split in Python
        imports.replace(module, "split_group", _split_into)
    imports.replace(module, "_new_process_group_helper", _make)
    objects.change(module)
    mirror.change(module)
    buckets.change(module)


def _init(module, original):
    def init_process_group(
        backend=None,
        init_method=None,
        timeout=None,
        world_size=-1,
        rank=-1,
        _store=None,
        *arguments,
        **named,
    ):
        world_size = world_size if world_size > 0 else int(os.environ.get("WORLD_SIZE", "1"))
        rank = rank if rank >= 0 else int(os.environ.get("RANK", "0"))
        if world_size != settings.RANKS:
            record.note(f"the script's job has {world_size} ranks, not {settings.RANKS}")
        named.pop("store", None)  # no other rank is in the script's own
        _kept.append(store.make(module))
        return original(
            _backend(backend),
            None,
            timeout,
            world_size,
            rank,
            _kept[-1],
            *arguments,
            **named,
        )

    return init_process_group


def _new_group(original):
    def new_group(ranks=None, timeout=None, backend=None, *arguments, **named):
        return original(
            ranks, timeout, _backend(backend) if backend is not None else None, *arguments, **named
        )

    return new_group


def _split(original):
    """The part's ranks are known here, and to NCCL only where the other ranks split too."""

    def split_group(group, ranks, *arguments, **named):
        if group.rank() in ranks:
            device.next_split(len(ranks), ranks.index(group.rank()))
        return original(group, ranks, *arguments, **named)

    return split_group


def _split_into(original):
    def split_group(parent_pg=None, split_ranks=None, *arguments, **named):
        own = sys.modules["torch.distributed"].get_rank(parent_pg)
        for ranks in map(sorted, split_ranks or []):
            if own in ranks:
                device.next_split(len(ranks), ranks.index(own))
        return original(parent_pg, split_ranks, *arguments, **named)

    return split_group


def _make(original):
    """A group of a device that the script has named is split off at once from the one of all ranks."""

    def _new_process_group_helper(group_size, group_rank, *arguments, **named):
        if group_rank is not None:  # this rank is one of them
            device.next_split(group_size, group_rank)
        try:
            return original(group_size, group_rank, *arguments, **named)
        finally:
            device.next_split(0, 0)

    return _new_process_group_helper


def _get_backend(original):
    def get_backend(group=None):
        name = original(group)
        return "gloo" if name == "foreshard_host" else name

    return get_backend


def _backend(asked):
    """The name of what stands for that backend; what is not gloo stands for itself."""
    name = "cpu:gloo,cuda:nccl" if asked is None else str(asked).lower()
    if name in ("gloo", "cpu:gloo"):
        return "foreshard_host"
    if "gloo" not in name:
        return asked
    import torch.testing._internal.distributed.fake_pg  # noqa: F401  (registers "fake")

    return name.replace("gloo", "fake")
