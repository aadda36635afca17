"""fully_shard as a plan describes it: groups of modules, mesh, precision, offloading, prefetch."""
import inspect

import torch
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import CPUOffloadPolicy, MixedPrecisionPolicy, fully_shard
from torch.distributed.tensor import Shard

from .modules import DTYPES, blocks_of, matching, modules_by_name

HYBRID = ("hybrid_shard", "hybrid_shard_zero2", "no_shard")


def modules_of_size(model, minimum):
    """size_based_auto_wrap_policy's rule: modules that still hold `minimum` parameters."""
    chosen = []

    def visit(module):
        total = sum(p.numel() for p in set(module.parameters()))
        if total < minimum:
            return 0
        inside = sum(visit(child) for child in module.children())
        if total - inside < minimum or isinstance(module, torch.nn.ModuleList):
            return inside
        chosen.append(module)
        return total

    for child in model.children():
        visit(child)
    return chosen


def groups_of(model, wrap):
    """Lists of the modules of each fully_shard call but the root's, inner ones first."""
    if wrap["policy"] == "none":
        return []
    if wrap["policy"] == "transformer":
        return [[block] for block in blocks_of(model)]
    if wrap["policy"] == "size":
        return [[module] for module in modules_of_size(model, wrap["min_num_params"])]
    modules, groups = modules_by_name(model), []
    for entry in wrap["modules"]:
        if isinstance(entry, str):
            groups += [[name] for name in matching(modules, [entry])]
        else:
            groups.append([name for glob in entry for name in matching(modules, [glob])])
    groups.sort(key=lambda names: -max(name.count(".") for name in names))
    return [[modules[name] for name in names] for names in groups]


def mesh_of(plan, world):
    sharding = plan["sharding"]
    if sharding["strategy"] not in HYBRID:
        return init_device_mesh("cuda", (world,))
    inner = 1 if sharding["strategy"] == "no_shard" else sharding["shard_group"] or world
    return init_device_mesh("cuda", (world // inner, inner), mesh_dim_names=("replicate", "shard"))


def fsdp2_options(plan, world):
    precision, sharding, offload = plan["precision"], plan["sharding"], plan["offload"]
    param = None if precision["param"] == precision["storage"] else DTYPES[precision["param"]]
    options = {"mesh": mesh_of(plan, world),
               "mp_policy": MixedPrecisionPolicy(param, DTYPES.get(precision["reduce"]))}
    if offload["parameters"]:
        options["offload_policy"] = CPUOffloadPolicy(pin_memory=offload["pin_memory"])
    if sharding["shard_dim"] == 1:
        options["shard_placement_fn"] = lambda p: Shard(int(p.ndim > 1 and p.size(1) % world == 0))
    reshard = sharding["reshard_after_forward"]
    if sharding["strategy"] in ("shard_grad_op", "hybrid_shard_zero2"):
        reshard = False
    default = inspect.signature(fully_shard).parameters["reshard_after_forward"].default
    if reshard != "auto" or default is None:
        options["reshard_after_forward"] = None if reshard == "auto" else reshard
    return options


def set_prefetch(model, prefetch):
    blocks = list(blocks_of(model))
    ahead, behind = prefetch["forward"], prefetch["backward"]
    for i in range(len(blocks) - ahead if ahead else 0):
        blocks[i].set_modules_to_forward_prefetch(blocks[i + 1 : i + 1 + ahead])
    for i in range(behind, len(blocks) if behind else 0):
        blocks[i].set_modules_to_backward_prefetch([blocks[i - n - 1] for n in range(behind)])


def apply_fsdp2(model, plan, world):
    options, names = fsdp2_options(plan, world), modules_by_name(model)
    kept = {names[n] for n in matching(names, plan["sharding"]["keep_after_forward"])}
    for group in groups_of(model, plan["wrap"]):
        changed = {"reshard_after_forward": False} if kept.intersection(group) else {}
        fully_shard(group if len(group) > 1 else group[0], **(options | changed))
    fully_shard(model, **options)
    set_prefetch(model, plan["prefetch"])
    if plan["pytorch"]["async_unshard"]:
        model._set_unshard_async_op(True)
    for name in matching(names, plan["pytorch"]["keep_sharded_in_backward"]):
        names[name].set_unshard_in_backward(False)
    on_host = plan["offload"]["parameters"]
    model.to_empty(device="cpu" if on_host else "cuda")
    for module in model.modules() if on_host else ():
        for name, buffer in module._buffers.items():
            module._buffers[name] = torch.empty_like(buffer, device="cuda")
    return model
