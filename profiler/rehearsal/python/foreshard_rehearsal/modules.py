"""Which module runs, while the last step is captured: a range of the profile for each call of a module,
named by its path. A model with compiled parts has none, since hooks would have them compiled again."""

import sys

PREFIX = "nn.Module: "
# What wrappers add to the paths of the modules that they wrap.
_WRAPPERS = ("_fsdp_wrapped_module", "_checkpoint_wrapped_module", "_orig_mod")

_paths = {}  # by the identity of a module
_open = []  # ranges, outermost first
_hooks = []


def begin():
    torch = sys.modules["torch"]
    dynamo = sys.modules.get("torch._dynamo")
    if dynamo is not None and dynamo.utils.counters["frames"]:
        return
    module = torch.nn.modules.module
    _hooks.append(module.register_module_forward_pre_hook(_enter))
    _hooks.append(module.register_module_forward_hook(_leave, always_call=True))


def end():
    while _hooks:
        _hooks.pop().remove()


def _enter(module, _arguments):
    if id(module) not in _paths:
        _paths.update((id(inner), _path(name)) for name, inner in module.named_modules())
    opened = sys.modules["torch"]._C._profiler._RecordFunctionFast(PREFIX + _paths[id(module)])
    opened.__enter__()
    _open.append(opened)


def _leave(_module, _arguments, _result):
    if _open:
        _open.pop().__exit__(None, None, None)


def _path(name):
    return ".".join(part for part in name.split(".") if part not in _WRAPPERS)
