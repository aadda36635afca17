"""Which module runs, while the last step is captured: a range of the profile for each call of a module
(module_calls.py), named by its path."""

import sys

PREFIX = "nn.Module: "
# What wrappers add to the paths of the modules that they wrap.
_WRAPPERS = ("_fsdp_wrapped_module", "_checkpoint_wrapped_module", "_orig_mod")

_paths = None  # by the identity of a module, while a step is captured
_models = []  # modules that were called first, which hold the others


def begin():
    global _paths
    _paths = {}


def end():
    global _paths
    _paths = None


def parameters():
    """Of all models that ran, frozen ones too, and their buffers."""
    for model in _models:
        yield from model.parameters()
        yield from model.buffers()


def opened(module):
    """The range of a call of this module, which has begun; None where no step is captured."""
    if _paths is None:
        return None
    if id(module) not in _paths:
        if all(module is not known for known in _models):
            _models.append(module)
        _paths.update((id(inner), _path(name)) for name, inner in module.named_modules())
    made = sys.modules["torch"]._C._profiler._RecordFunctionFast(PREFIX + _paths[id(module)])
    made.__enter__()
    return made


def _path(name):
    return ".".join(part for part in name.split(".") if part not in _WRAPPERS)
