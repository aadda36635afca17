"""Memory and step time of FSDP training, predicted, searched and read from recordings.

    import foreshard
    answer = foreshard.predict("llama-3.1-8b", ranks=64, machine="h100-sxm", plan="llama3_8b.toml")
    answer.fits, answer.step_time_ns, answer.tokens_per_s
    trace = foreshard.open("run.fst")
    trace.events.pandas()

Every function runs the program `foreshard` and returns its JSON answer as a dataclass of
`foreshard.answers`. Nothing is imported before it is needed.
"""

_MODULES = {
    "commands": ("predict", "rehearse", "search", "whatif", "inspect", "collective", "compare", "machines", "models"),
    "errors": ("Error", "InputError", "RunError"),
    "program": ("program_path", "version"),
    "trace": ("open", "Table", "Trace"),
}
_WHERE = {name: module for module, names in _MODULES.items() for name in names}
__all__ = sorted(_WHERE)


def __getattr__(name):
    if name not in _WHERE:
        raise AttributeError(f"module 'foreshard' has no attribute {name!r}")
    from importlib import import_module

    value = globals()[name] = getattr(import_module(f"foreshard.{_WHERE[name]}"), name)
    return value


def __dir__():
    return __all__
