"""Calls functions right after a module has been imported, whoever imports it and whenever."""

import importlib.abc
import importlib.util
import sys

_waiting = {}


class _Finder(importlib.abc.MetaPathFinder):
    """Finds what the others find, and adds the functions that wait to the module's execution."""

    def __init__(self):
        self._searched = set()

    def find_spec(self, name, path=None, target=None):
        if name not in _waiting or name in self._searched:
            return None
        self._searched.add(name)
        try:
            spec = importlib.util.find_spec(name)
        finally:
            self._searched.discard(name)
        if spec is None or spec.loader is None:
            return None
        execute = spec.loader.exec_module

        def execute_and_call(module):
            execute(module)
            for function in _waiting.pop(name, []):
                function(module)

        spec.loader.exec_module = execute_and_call
        return spec


def after(name, function):
    """Calls function(module) as soon as the module of that name is there; now, if it is."""
    if name in sys.modules:
        function(sys.modules[name])
        return
    if not any(isinstance(finder, _Finder) for finder in sys.meta_path):
        sys.meta_path.insert(0, _Finder())
    _waiting.setdefault(name, []).append(function)


def replace(module, name, make):
    """Puts make(original) in the place of module.name, under its name and documentation. Nothing where
    this release of the module has no such name."""
    original = getattr(module, name, None)
    if original is None:
        return
    replacement = make(original)
    for attribute in ("__name__", "__qualname__", "__doc__", "__module__"):
        if hasattr(original, attribute):
            setattr(replacement, attribute, getattr(original, attribute))
    setattr(module, name, replacement)
