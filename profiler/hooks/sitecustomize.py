"""Loaded by Python before the user's script, as the first `sitecustomize` on its path.

It installs the hooks that the environment asks for, takes itself off the path and then runs the `sitecustomize`
that Python would have run without it, so that the script finds the world as it was.
"""

import importlib
import importlib.machinery
import importlib.util
import os
import sys

HOOKS = {"FORESHARD_REHEARSAL_RECORD": "foreshard_rehearsal", "FORESHARD_PROFILE": "foreshard_profile"}


def run_the_users_own():
    spec = importlib.machinery.PathFinder.find_spec("sitecustomize", sys.path)
    if spec is None or spec.loader is None:
        return
    module = importlib.util.module_from_spec(spec)
    sys.modules["sitecustomize"] = module
    spec.loader.exec_module(module)


import foreshard_hooks  # noqa: E402  (found in this folder, as all hooks are, which then leaves the path)

folder = os.path.dirname(os.path.abspath(__file__))
hooks = [importlib.import_module(name) for variable, name in HOOKS.items() if variable in os.environ]
sys.path[:] = [entry for entry in sys.path if os.path.abspath(entry or ".") != folder]
for hook in hooks:
    hook.begin()
run_the_users_own()
