"""Activation checkpointing of decoder blocks, as the section [checkpointing] describes it."""
import collections
import functools
import inspect
import sys

import torch
from torch.distributed.algorithms._checkpoint.checkpoint_wrapper import checkpoint_wrapper
from torch.utils import checkpoint

from .modules import blocks_of


def save_policy(saved):
    """A policy of selective checkpointing: which operators' outputs are kept."""
    aten = torch.ops.aten
    attention = {aten._scaled_dot_product_flash_attention.default,
                 aten._scaled_dot_product_efficient_attention.default,
                 aten._scaled_dot_product_cudnn_attention.default}
    counts = collections.Counter()

    def policy(context, operator, *_, **__):
        keeps = operator in attention and "attention" in saved
        if operator is aten.mm.default:
            counts[context.is_recompute] += 1
            is_odd = counts[context.is_recompute] % 2 == 1
            keeps = "matmul" in saved or ("every_second_matmul" in saved and is_odd)
        kinds = checkpoint.CheckpointPolicy
        return kinds.MUST_SAVE if keeps else kinds.PREFER_RECOMPUTE

    return checkpoint.create_selective_checkpoint_contexts(policy)


def checkpointed_blocks(settings, count):
    """Numbers of the blocks that are checkpointed, counted from 0."""
    every = settings["every"] if settings["mode"] == "every" else 1
    taken = range(every - 1, count, every)
    chosen, next_one = [], 0.5
    for number, block in enumerate(taken, 1):
        if number * settings["fraction"] >= next_one:
            chosen.append(block)
            next_one += 1
    return chosen


def apply_checkpointing(model, plan):
    settings, stops_early = plan["checkpointing"], plan["pytorch"]["checkpoint_early_stop"]
    if settings["mode"] == "none":
        return
    if settings["mode"] == "transformers":
        model.gradient_checkpointing_enable(gradient_checkpointing_kwargs={"use_reentrant": False})
        model.train()
        return
    options = {"preserve_rng_state": False}
    if settings["mode"] == "selective":
        options["context_fn"] = functools.partial(save_policy, settings["save"])
    if "early_stop" in inspect.signature(checkpoint.checkpoint).parameters:
        options["early_stop"] = stops_early
    else:  # before PyTorch 2.9: one switch for all
        sys.modules["torch.utils.checkpoint"]._enable_checkpoint_early_stop = stops_early
    blocks = blocks_of(model)
    for i in checkpointed_blocks(settings, len(blocks)):
        blocks[i] = checkpoint_wrapper(blocks[i], **options)
