"""Modules by the names and globs of a plan, whichever Llama runs."""
import re

import torch

DTYPES = {"fp32": torch.float32, "bf16": torch.bfloat16}


def modules_by_name(model):
    """Modules by Hugging Face's names; of a wrapped or compiled one the wrapper."""
    modules = {}
    for name, module in model.named_modules():
        name = re.sub(r"\.(_checkpoint_wrapped_module|_orig_mod)\b", "", name)
        inside_model = name.split(".")[0] in ("embed_tokens", "layers", "norm")
        modules.setdefault("model." + name if inside_model else name, module)
    return modules


def matching(names, globs):
    """The names that match one of the globs, whose `*` stays inside a component."""
    patterns = [re.escape(g).replace(r"\*", "[^.]*").replace(r"\?", "[^.]") for g in globs]
    return [name for name in names if any(re.fullmatch(p, name) for p in patterns)]


def blocks_of(model):
    return getattr(model, "model", model).layers
