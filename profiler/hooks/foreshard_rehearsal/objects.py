"""Collectives of Python objects, without any traffic on the device: every rank holds what this one holds, unless it
runs too (peers.py). An object that only another rank has, which does not run, cannot be had: the
rehearsal ends there and says so."""

import copy

from foreshard_hooks import imports
from foreshard_rehearsal import peers, record, settings, user_code

_MOST_NAMED = 16  # ranks in a sentence


def change(module):
    """`module` is torch.distributed.distributed_c10d."""

    def ranks_of(group):
        return peers.global_ranks(group)

    def source_rank(src, group, group_src):
        if group_src is not None:
            return module.get_global_rank(group or module.group.WORLD, group_src)
        return 0 if src is None else src

    def all_gather_object(object_list, obj, group=None):
        for place, brought in enumerate(peers.of_all(ranks_of(group), obj)):
            object_list[place] = copy.deepcopy(brought) if brought is obj else brought
        object_list[module.get_rank(group)] = obj

    def gather_object(obj, object_gather_list=None, dst=None, group=None, group_dst=None):
        gathered = object_gather_list if object_gather_list else [None] * len(ranks_of(group))
        all_gather_object(gathered, obj, group)

    def broadcast_object_list(
        object_list, src=None, group=None, device=None, group_src=None, **_more
    ):
        source = source_rank(src, group, group_src)
        object_list[:] = peers.from_one(ranks_of(group), source, object_list)
        if source == settings.RANK or source in settings.REAL_RANKS:
            return
        if any(entry is None for entry in object_list):
            _cannot_have("broadcast_object_list", source, ranks_of(group))
        if source in settings.EARLIER_RANKS:
            return
        record.note(
            f"broadcast_object_list from rank {source}: this rank's own objects stood for its"
        )

    def scatter_object_list(
        scatter_object_output_list,
        scatter_object_input_list=None,
        src=None,
        group=None,
        group_src=None,
    ):
        source = source_rank(src, group, group_src)
        objects = peers.from_one(ranks_of(group), source, scatter_object_input_list)
        if not objects:
            _cannot_have("scatter_object_list", source, ranks_of(group))
        scatter_object_output_list[0] = objects[module.get_rank(group)]

    def recv_object_list(object_list, src=None, group=None, device=None, group_src=None, **_more):
        source = source_rank(src, group, group_src)
        objects = peers.receive(source, "objects") if peers.is_other(source) else None
        if objects is None:
            _cannot_have("recv_object_list", source, ranks_of(group))
        object_list[:] = objects
        return source

    def send_object_list(object_list, dst=None, group=None, device=None, group_dst=None, **_more):
        peers.send(object_list, source_rank(dst, group, group_dst), "objects")

    for function in (
        all_gather_object,
        gather_object,
        broadcast_object_list,
        scatter_object_list,
        recv_object_list,
        send_object_list,
    ):
        imports.replace(module, function.__name__, lambda _, function=function: function)


def _cannot_have(collective, rank, ranks):
    """`ranks` are those of the group, which would have to run together."""
    together = ",".join(map(str, ranks)) if len(ranks) <= _MOST_NAMED else f"{rank},{settings.RANK}"
    record.give_up(
        f"{user_code.line()}: {collective} needs an object that only rank {rank} has, which does not "
        f"run; expected --real-ranks {together}, or a script whose every rank makes the object itself"
    )
