"""Collectives of Python objects: every rank holds what this one holds, without any traffic. An object that
only another rank has cannot be had: the rehearsal ends there and says so."""

import copy

from foreshard_rehearsal import imports, record, user_code


def change(module):
    """`module` is torch.distributed.distributed_c10d."""

    def own(group):
        return module.get_rank(group)

    def source_rank(src, group, group_src):
        if group_src is not None:
            return module.get_global_rank(group or module.group.WORLD, group_src)
        return 0 if src is None else src

    def all_gather_object(object_list, obj, group=None):
        for rank in range(len(object_list)):
            object_list[rank] = obj if rank == own(group) else copy.deepcopy(obj)

    def gather_object(obj, object_gather_list=None, dst=None, group=None, group_dst=None):
        if object_gather_list:
            all_gather_object(object_gather_list, obj, group)

    def broadcast_object_list(
        object_list, src=None, group=None, device=None, group_src=None, **_more
    ):
        source = source_rank(src, group, group_src)
        if source == module.get_rank():
            return
        if any(entry is None for entry in object_list):
            _cannot_have("broadcast_object_list", source)
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
        if not scatter_object_input_list:
            _cannot_have("scatter_object_list", source_rank(src, group, group_src))
        scatter_object_output_list[0] = scatter_object_input_list[own(group)]

    def recv_object_list(object_list, src=None, group=None, device=None, group_src=None, **_more):
        _cannot_have("recv_object_list", source_rank(src, group, group_src))

    def send_object_list(object_list, dst=None, group=None, device=None, group_dst=None, **_more):
        pass

    for function in (
        all_gather_object,
        gather_object,
        broadcast_object_list,
        scatter_object_list,
        recv_object_list,
        send_object_list,
    ):
        imports.replace(module, function.__name__, lambda _, function=function: function)


def _cannot_have(collective, rank):
    record.give_up(
        f"{user_code.line()}: {collective} needs an object that only rank {rank} has, which does not "
        f"run; expected --rank {rank}, or a script whose every rank makes the object itself"
    )
