"""Trains a Llama, or a model of transformers, with FSDP2, FSDP1 or DDP: a plain loop under torchrun whose
arguments say what differs from job to job. Nothing in it is about rehearsals."""

import argparse
import contextlib
import fnmatch
import functools
import gc
import json
import os
import pathlib
import sys

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch.distributed import fsdp
from torch.distributed.algorithms._checkpoint.checkpoint_wrapper import checkpoint_wrapper
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import wrap
from torch.distributed.tensor import Shard
from torch.nn.parallel import DistributedDataParallel
from torch.utils.checkpoint import set_checkpoint_early_stop

sys.path.append(str(pathlib.Path(__file__).resolve().parents[4] / "scripts"))
from torch_run.checkpointing import save_policy  # noqa: E402
from torch_run.fsdp2 import modules_of_size  # noqa: E402
from torch_run.llama import Llama  # noqa: E402

from torchtitan_llama import TorchtitanLlama  # noqa: E402

BF16, FP32 = torch.bfloat16, torch.float32
PRECISIONS = {  # param_dtype and reduce_dtype
    "fp32": (None, None),
    "bf16_fp32": (BF16, FP32),
    "bf16": (BF16, BF16),
    "bf16_none": (BF16, None),
    "pure_bf16": (None, None),
    "pure_bf16_fp32": (None, FP32),
}
LORA_TARGETS = {
    "qv": ["q_proj", "v_proj"],
    "qkvo": ["q_proj", "k_proj", "v_proj", "o_proj"],
    "all": ["q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"],
}


def arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    add = parser.add_argument
    add("--config", required=True, help="a model's config.json")
    add("--impl", default="titan", choices=("titan", "torchtitan", "hf"))
    add("--layers", type=int, help="fewer layers than the config has")
    add("--tie", help="0 or 1: embedding and head share a weight; otherwise the config decides")
    add("--gqa", default="native", choices=("native", "repeat"))
    add("--rope", default="complex", choices=("complex", "half"))
    add("--api", default="fsdp2", choices=("fsdp2", "fsdp1", "ddp"))
    add("--setup", default="meta", choices=("meta", "host", "device"), help="where the model is built")
    add("--wrap", default="layers", help="none, layers, titan, attn_mlp, every:K or size:PARAMETERS")
    add("--mesh", default="1d", help="1d, or REPLICASxSHARDS")
    add("--reshard", default="auto", help="auto, true, false or a number of ranks")
    add("--fwd_prefetch", type=int, default=0)
    add("--bwd_prefetch", type=int, default=0)
    add("--async_unshard", type=int, default=0)
    add("--embed_in_bwd", type=int, default=1)
    add("--shard_dim1", type=int, default=0)
    add("--precision", default="bf16_fp32", choices=PRECISIONS)
    add("--autocast", type=int, default=0)
    add("--offload", default="none", choices=("none", "cpu", "cpu_nopin"))
    add("--ac", default="none", help="none, full, full_early, every2, selective, or hf for transformers' own")
    add("--reentrant", type=int, default=0)
    add("--accum", type=int, default=1)
    add("--accum_sync", default="every", choices=("every", "last", "last_keep", "no_all_reduce"))
    add("--optim", default="adamw_foreach", help="adamw or sgd, _foreach, _fused or _loop")
    add("--wd", type=float)
    add("--momentum", type=float, default=0)
    add("--zero_grad", default="none", choices=("none", "zero"))
    add("--clip", type=int, default=1)
    add("--batch", type=int, default=1)
    add("--seq", type=int, default=512)
    add("--mask", default="none", choices=("none", "ones", "padded"))
    add("--loss", default="fp32", choices=("fp32", "bf16"))
    add("--sdpa", default="flash", choices=("flash", "efficient", "auto"))
    add("--fraction", type=float, help="of the device's memory that PyTorch may take")
    add("--eval_every", type=int, default=0)
    add("--eval_batches", type=int, default=1)
    add("--frozen", default="", help="globs of Hugging Face's module names, a comma between")
    add("--lora", choices=LORA_TARGETS)
    add("--lora_rank", type=int, default=16)
    add("--lora_dtype", default="storage", choices=("storage", "fp32"))
    add("--strategy", default="FULL_SHARD")
    add("--bwd_policy", default="PRE", choices=("PRE", "POST", "NONE"))
    add("--limit_ag", type=int, default=1)
    add("--fwd_prefetch1", type=int, default=0)
    add("--orig_params", type=int, default=1)
    add("--bucket_mb", type=int, default=25)
    add("--bucket_view", type=int, default=0)
    add("--static_graph", type=int, default=0)
    add("--find_unused", type=int, default=0)
    add("--init_sync", type=int, default=1)
    return parser.parse_args()


# The model


def new_model(args):
    """On the meta device, in the dtype of the parameters that the optimizer sees."""
    config = json.loads(pathlib.Path(args.config).read_text())
    config["num_hidden_layers"] = args.layers or config["num_hidden_layers"]
    if args.tie is not None:
        config["tie_word_embeddings"] = args.tie == "1"
    torch.set_default_dtype(BF16 if args.precision.startswith("pure_bf16") else FP32)
    with torch.device("meta"):
        if args.impl == "hf":
            model = of_transformers(config)
        else:
            kind = TorchtitanLlama if args.impl == "torchtitan" else Llama
            model = kind(config, args.seq, args.rope, args.gqa == "repeat")
        if args.lora:
            model = with_adapters(args, model)
    torch.set_default_dtype(FP32)
    freeze(args, model)
    return model.train()


def of_transformers(config):
    from transformers import AutoConfig, AutoModelForCausalLM

    kind = config.pop("model_type")
    for name in ("architectures", "dtype"):
        config.pop(name, None)
    known = AutoConfig.for_model(kind, **config)
    return AutoModelForCausalLM.from_config(
        known, dtype=torch.get_default_dtype(), attn_implementation="sdpa"
    )


def with_adapters(args, model):
    from peft import LoraConfig, get_peft_model

    targets = LORA_TARGETS[args.lora]
    config = LoraConfig(r=args.lora_rank, lora_alpha=2 * args.lora_rank, target_modules=targets)
    adapted = get_peft_model(model, config, autocast_adapter_dtype=args.lora_dtype == "fp32")
    return adapted.get_base_model()


def freeze(args, model):
    for name, parameter in model.named_parameters():
        parts = name.removeprefix("model.").split(".")
        for glob in filter(None, args.frozen.split(",")):
            wanted = glob.removeprefix("model.").split(".")
            if len(wanted) <= len(parts) and all(map(fnmatch.fnmatchcase, parts, wanted)):
                parameter.requires_grad_(False)


def blocks_of(model):
    return getattr(model, "model", model).layers


def embedding_of(model):
    return getattr(model, "model", model).embed_tokens


def checkpoint_activations(args, model):
    if args.ac == "none":
        return
    if args.ac == "hf":
        model.gradient_checkpointing_enable({"use_reentrant": bool(args.reentrant)})
        if args.reentrant and not next(model.parameters()).requires_grad:
            model.enable_input_require_grads()
        return
    options = {"preserve_rng_state": False}
    if args.ac == "selective":
        saved = ["attention", "every_second_matmul"]
        options["context_fn"] = functools.partial(save_policy, saved)
    blocks = blocks_of(model)
    for i in range(len(blocks)):
        if args.ac != "every2" or i % 2 == 1:
            blocks[i] = checkpoint_wrapper(blocks[i], **options)


# Where its parameters lie


def allocate(model, device):
    """The whole model there, without values; to_empty unties what is tied."""
    is_tied = model.lm_head.weight is embedding_of(model).weight
    model.to_empty(device=device)
    if is_tied:
        model.lm_head.weight = embedding_of(model).weight


def fsdp2_options(args):
    param, reduce = PRECISIONS[args.precision]
    if args.mesh == "1d":
        mesh = init_device_mesh("cuda", (dist.get_world_size(),))
    else:
        shape = tuple(map(int, args.mesh.split("x")))
        mesh = init_device_mesh("cuda", shape, mesh_dim_names=("replicate", "shard"))
    options = {"mesh": mesh, "mp_policy": fsdp.MixedPrecisionPolicy(param, reduce)}
    if args.offload != "none":
        options["offload_policy"] = fsdp.CPUOffloadPolicy(pin_memory=args.offload == "cpu")
    if args.shard_dim1:
        ranks = dist.get_world_size()
        options["shard_placement_fn"] = lambda p: Shard(int(p.ndim > 1 and p.size(1) % ranks == 0))
    words = {"true": True, "false": False}
    if args.reshard != "auto":
        options["reshard_after_forward"] = (
            words[args.reshard] if args.reshard in words else int(args.reshard)
        )
    return options


def fsdp2_groups(args, model):
    """What each call of fully_shard takes, without the root."""
    blocks = list(blocks_of(model))
    kind, _, number = args.wrap.partition(":")
    if kind == "layers":
        return blocks
    if kind == "every":
        return [blocks[i : i + int(number)] for i in range(0, len(blocks), int(number))]
    if kind == "size":
        return modules_of_size(model, int(number))
    if kind == "attn_mlp":
        groups = []
        for block in blocks:
            inner = getattr(block, "_checkpoint_wrapped_module", block)
            groups += [inner.self_attn, inner.mlp, block]
        return groups
    return [embedding_of(model), *blocks] if kind == "titan" else []


def with_fsdp2(args, model):
    options = fsdp2_options(args)
    if args.setup != "meta":
        allocate(model, "cpu" if args.setup == "host" else "cuda")
    for group in fsdp2_groups(args, model):
        fsdp.fully_shard(group, **options)
    if args.wrap == "titan":  # the last group would be gathered again at once
        kept = {"reshard_after_forward": False} if args.reshard == "auto" else {}
        last = [getattr(model, "model", model).norm, model.lm_head]
        fsdp.fully_shard(last, **(options | kept))
    fsdp.fully_shard(model, **options)
    prefetch(args, list(blocks_of(model)))
    if args.async_unshard:
        model._set_unshard_async_op(True)
    if not args.embed_in_bwd:
        embedding_of(model).set_unshard_in_backward(False)
    if args.setup == "meta":
        model.to_empty(device="cuda" if args.offload == "none" else "cpu")
        if args.offload != "none":
            move_buffers(model)
    return model


def prefetch(args, blocks):
    ahead, behind = args.fwd_prefetch, args.bwd_prefetch
    for i in range(len(blocks) - ahead if ahead else 0):
        blocks[i].set_modules_to_forward_prefetch(blocks[i + 1 : i + 1 + ahead])
    for i in range(behind, len(blocks) if behind else 0):
        blocks[i].set_modules_to_backward_prefetch(blocks[i - behind : i][::-1])


def move_buffers(model):
    for module in model.modules():
        for name, buffer in module.named_buffers(recurse=False):
            setattr(module, name, torch.empty_like(buffer, device="cuda"))


def with_fsdp1(args, model):
    if args.setup != "meta":
        allocate(model, "cpu" if args.setup == "host" else "cuda")
    param, reduce = PRECISIONS[args.precision]
    policy = wrap.ModuleWrapPolicy({type(block) for block in blocks_of(model)})
    if args.wrap.startswith("size:"):
        least = int(args.wrap.partition(":")[2])
        policy = functools.partial(wrap.size_based_auto_wrap_policy, min_num_params=least)
    return fsdp.FullyShardedDataParallel(
        model,
        device_id=torch.cuda.current_device(),
        auto_wrap_policy=None if args.wrap == "none" else policy,
        mixed_precision=fsdp.MixedPrecision(param, reduce) if param else None,
        sharding_strategy=fsdp.ShardingStrategy[args.strategy],
        cpu_offload=fsdp.CPUOffload(args.offload != "none"),
        use_orig_params=bool(args.orig_params),
        limit_all_gathers=bool(args.limit_ag),
        forward_prefetch=bool(args.fwd_prefetch1),
        backward_prefetch={
            "PRE": fsdp.BackwardPrefetch.BACKWARD_PRE,
            "POST": fsdp.BackwardPrefetch.BACKWARD_POST,
            "NONE": None,
        }[args.bwd_policy],
        param_init_fn=(
            (lambda module: module.to_empty(device="cuda", recurse=False))
            if args.setup == "meta"
            else None
        ),
    )


def with_ddp(args, model):
    if args.setup == "meta":
        model.to_empty(device="cuda")
    else:
        allocate(model, "cpu" if args.setup == "host" else "cuda")
    return DistributedDataParallel(
        model.to("cuda"),
        device_ids=[torch.cuda.current_device()],
        bucket_cap_mb=args.bucket_mb or None,
        gradient_as_bucket_view=bool(args.bucket_view),
        static_graph=bool(args.static_graph),
        find_unused_parameters=bool(args.find_unused),
        **({} if args.init_sync else {"init_sync": False}),
    )


# The loop


def new_optimizer(args, model):
    name, _, kernel = args.optim.partition("_")
    options = {"fused": True} if kernel == "fused" else {"foreach": kernel == "foreach"}
    if args.wd is not None:
        options["weight_decay"] = args.wd
    if args.momentum:
        options["momentum"] = args.momentum
    kind = torch.optim.AdamW if name == "adamw" else torch.optim.SGD
    return kind([p for p in model.parameters() if p.requires_grad], lr=1e-4, **options)


def batch_of(args):
    shape = args.batch, args.seq
    return torch.randint(256, shape).cuda(), torch.randint(256, shape).cuda()


def loss_of(args, model, tokens, targets):
    if args.impl == "hf":
        more = {}
        if args.mask != "none":
            mask = torch.ones(args.batch, args.seq, dtype=torch.int64)
            if args.mask == "padded":
                mask[:, : args.seq // 4] = 0
            more["attention_mask"] = mask.cuda()
        return model(input_ids=tokens, labels=targets, use_cache=False, **more).loss
    logits = model(tokens).flatten(0, 1)
    return F.cross_entropy(logits.float() if args.loss == "fp32" else logits, targets.flatten())


def precision_of_operators(args):
    return torch.autocast("cuda", BF16) if args.autocast else contextlib.nullcontext()


def synchronisation(args, model, is_last):
    if args.accum == 1 and args.accum_sync != "no_all_reduce":
        return contextlib.nullcontext()
    if args.api != "fsdp2":
        is_quiet = args.accum_sync == "last" and not is_last
        return model.no_sync() if is_quiet else contextlib.nullcontext()
    if args.accum_sync in ("last", "last_keep"):
        model.set_requires_gradient_sync(is_last)
    if args.accum_sync == "last_keep":
        model.set_reshard_after_backward(is_last)
    if args.accum_sync == "no_all_reduce":
        model.set_requires_all_reduce(is_last)
    return contextlib.nullcontext()


def train_step(args, model, optimizer):
    optimizer.zero_grad(set_to_none=args.zero_grad == "none")
    for micro_step in range(args.accum):
        tokens, targets = batch_of(args)
        with synchronisation(args, model, micro_step == args.accum - 1):
            with precision_of_operators(args):
                loss = loss_of(args, model, tokens, targets)
            if args.accum > 1:
                loss = loss / args.accum
            loss.backward()
        del loss
    if args.clip and args.api == "fsdp1":
        model.clip_grad_norm_(1.0)
    elif args.clip:
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()


@torch.no_grad()
def evaluate(args, model):
    model.eval()
    for _ in range(args.eval_batches):
        with precision_of_operators(args):
            loss_of(args, model, *batch_of(args)).item()
    model.train()
    memory = torch.cuda.memory_stats()
    peaks = [memory[f"{kind}_bytes.all.peak"] for kind in ("active", "allocated", "reserved")]
    print("evaluation reached", *peaks)


def main():
    args = arguments()
    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    # Gradients whose shards are on the host are clipped there.
    dist.init_process_group("nccl" if args.offload == "none" else "cpu:gloo,cuda:nccl")
    gc.collect()
    gc.disable()  # collections at other moments on other ranks make all of them wait
    torch.backends.cuda.enable_cudnn_sdp(args.sdpa == "auto")
    torch.backends.cuda.enable_flash_sdp(args.sdpa != "efficient")
    if args.fraction:
        torch.cuda.set_per_process_memory_fraction(args.fraction)
    model = new_model(args)
    checkpoint_activations(args, model)
    model = {"fsdp2": with_fsdp2, "fsdp1": with_fsdp1, "ddp": with_ddp}[args.api](args, model)
    optimizer = new_optimizer(args, model)
    with set_checkpoint_early_stop(args.ac not in ("full", "every2", "selective")):
        for step in range(1, 1000):
            torch.cuda.reset_peak_memory_stats()
            train_step(args, model, optimizer)
            if args.eval_every and step % args.eval_every == 0:
                evaluate(args, model)


main()
