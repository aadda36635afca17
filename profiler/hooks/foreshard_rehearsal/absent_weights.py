"""--weights absent: transformers loads a model of which only the configuration is there. The weights are a
safetensors file whose data is one hole, so that all else is done as from_pretrained always does it."""

import copy
import functools
import json
import os
import struct
import tempfile

from foreshard_hooks import imports
from foreshard_rehearsal import record, settings

_WEIGHTS = (".safetensors", ".bin", ".pt", ".pth", ".gguf")
_INDEX = ".index.json"


def install():
    if settings.WEIGHTS_ARE_ABSENT:
        imports.after("transformers.modeling_utils", _change)


def _change(module):
    original = module.PreTrainedModel.from_pretrained.__func__

    @functools.wraps(original)
    def from_pretrained(cls, name, *arguments, config=None, **named):
        folder = _folder(name)
        if folder is None or _has_weights(folder):
            return original(cls, name, *arguments, config=config, **named)
        if config is None:
            config = cls.config_class.from_pretrained(name)
        with tempfile.TemporaryDirectory(prefix="foreshard_weights") as scratch:
            _link(folder, scratch)
            _write(os.path.join(scratch, "model.safetensors"), _shapes(cls, config), _kind(config))
            result = original(cls, scratch, *arguments, config=config, **named)
        for owner in (model := result[0] if isinstance(result, tuple) else result), model.config:
            for attribute in ("name_or_path", "_name_or_path"):
                if getattr(owner, attribute, None) == scratch:
                    setattr(owner, attribute, name)
        record.note(f"from_pretrained: {name} has no weights; an empty file of their sizes was loaded")
        return result

    module.PreTrainedModel.from_pretrained = classmethod(from_pretrained)


def _folder(name):
    """Where the files of that model are; None where even its configuration is not."""
    if not os.path.isdir(name := str(name)):
        import huggingface_hub

        name = os.path.dirname(huggingface_hub.try_to_load_from_cache(name, "config.json") or "")
    return name if os.path.isfile(os.path.join(name, "config.json")) else None


def _has_weights(folder):
    names = os.listdir(folder)
    for index in (name for name in names if name.endswith(_INDEX)):
        with open(os.path.join(folder, index), encoding="utf-8") as file:
            files = set(json.load(file)["weight_map"].values())
        return all(os.path.exists(os.path.join(folder, name)) for name in files)
    return any(
        name.endswith(_WEIGHTS) and os.path.exists(os.path.join(folder, name)) for name in names
    )


def _link(folder, scratch):
    for name in os.listdir(folder):
        if not name.endswith((*_WEIGHTS, _INDEX)):
            os.symlink(os.path.abspath(os.path.join(folder, name)), os.path.join(scratch, name))


def _shapes(cls, config):
    """{name: shape} of what such a model is saved as."""
    import torch

    with torch.device("meta"):
        model = cls(copy.deepcopy(config))
    tied = model._tied_weights_keys or () if getattr(config, "tie_word_embeddings", False) else ()
    return {name: list(tensor.shape) for name, tensor in model.state_dict().items() if name not in tied}


def _kind(config):
    """(safetensors' name of the configuration's type, bytes of an element)"""
    import torch

    named = getattr(config, "dtype", None) or getattr(config, "torch_dtype", None) or torch.float32
    named = getattr(torch, named) if isinstance(named, str) else named
    return {torch.bfloat16: ("BF16", 2), torch.float16: ("F16", 2)}.get(named, ("F32", 4))


def _write(path, shapes, kind):
    name_of_kind, width = kind
    header, end = {"__metadata__": {"format": "pt"}}, 0
    for name, shape in shapes.items():
        begin, elements = end, 1
        for size in shape:
            elements *= size
        end += elements * width
        header[name] = {"dtype": name_of_kind, "shape": shape, "data_offsets": [begin, end]}
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        file.truncate(file.tell() + end)
