"""Losses as a plan names them: cross-entropy of all tokens at once, of chunks of them, or compiled."""
import torch
import torch.nn.functional as F

from .modules import DTYPES

CHUNKS = 8


def cross_entropy(logits, targets, dtype):
    return F.cross_entropy(logits.flatten(0, 1).to(dtype), targets.flatten())


def chunked(logits, targets, dtype):
    """Mean over all tokens; logits are cast one chunk of the sequence after the other."""
    parts = zip(logits.chunk(CHUNKS, dim=1), targets.chunk(CHUNKS, dim=1))
    sums = [F.cross_entropy(seen.flatten(0, 1).to(dtype), wanted.flatten(), reduction="sum") for seen, wanted in parts]
    return torch.stack(sums).sum() / targets.numel()


def loss_function(plan):
    """Takes logits and targets; the logits' dtype is the plan's."""
    settings = plan["pytorch"]
    dtype = DTYPES[settings["logits"]]
    function = chunked if settings["loss"] == "chunked" else cross_entropy
    is_compiled = settings["loss"] == "compiled" or (
        plan["operators"] == "pytorch-compile" and settings["compile"] == "blocks+loss")
    if is_compiled:
        function = torch.compile(function)
    return lambda logits, targets: function(logits, targets, dtype)
