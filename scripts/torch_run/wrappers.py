"""FullyShardedDataParallel (FSDP1) and DistributedDataParallel as a plan describes them."""
import functools

import torch
from torch.distributed import fsdp
from torch.distributed.fsdp import wrap
from torch.nn.parallel import DistributedDataParallel, distributed

from .fsdp2 import mesh_of
from .modules import DTYPES, blocks_of


def apply_fsdp1(model, plan, world):
    blocks, strategy = set(blocks_of(model)), plan["sharding"]["strategy"]
    precision, prefetch, settings = plan["precision"], plan["prefetch"], plan["wrap"]
    policies = {
        "none": None,
        "transformer": wrap.CustomPolicy(lambda module: module in blocks),
        "size": functools.partial(wrap.size_based_auto_wrap_policy,
                                  min_num_params=settings["min_num_params"]),
    }
    mixed = None
    if precision["param"] != precision["storage"]:
        mixed = fsdp.MixedPrecision(param_dtype=DTYPES[precision["param"]],
                                    reduce_dtype=DTYPES.get(precision["reduce"]))
    backward = {"pre": fsdp.BackwardPrefetch.BACKWARD_PRE,
                "post": fsdp.BackwardPrefetch.BACKWARD_POST, "none": None}
    return fsdp.FullyShardedDataParallel(
        model.to_empty(device="cpu" if plan["pytorch"]["setup"] in ("auto", "host") else "cuda"),
        device_id=torch.cuda.current_device(),
        auto_wrap_policy=policies[settings["policy"]],
        mixed_precision=mixed,
        device_mesh=mesh_of(plan, world) if strategy == "hybrid_shard" else None,
        sharding_strategy=fsdp.ShardingStrategy[strategy.upper()],
        cpu_offload=fsdp.CPUOffload(plan["offload"]["parameters"]),
        use_orig_params=plan["pytorch"]["use_orig_params"],
        limit_all_gathers=prefetch["limit_all_gathers"],
        forward_prefetch=prefetch["forward_prefetch"],
        backward_prefetch=backward[prefetch["backward_prefetch"]],
    )


def apply_ddp(model, plan, is_fake):
    if is_fake:  # that group has no values to compare and returns none
        distributed._verify_param_shape_across_processes = lambda *_, **__: None
        distributed._sync_module_states = lambda *_, **__: None
    settings = plan["pytorch"]
    cap = settings["bucket_cap_mb"]
    wrapped = DistributedDataParallel(
        model.to_empty(device="cuda"),
        device_ids=[torch.cuda.current_device()],
        **({} if cap == "auto" else {"bucket_cap_mb": cap}),
        gradient_as_bucket_view=settings["gradient_as_bucket_view"],
        static_graph=settings["static_graph"],
    )

    def all_reduce(_, bucket):
        torch.distributed.all_reduce(bucket.buffer())
        done = torch.futures.Future(devices=[bucket.buffer().device])
        done.set_result(bucket.buffer())
        return done

    if is_fake:
        wrapped.register_comm_hook(None, all_reduce)
    return wrapped
