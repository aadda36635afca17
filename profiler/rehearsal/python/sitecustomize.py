"""Loaded by Python before the user's script, as the first `sitecustomize` on its path.

It installs the hooks, takes itself off the path and then runs the `sitecustomize` that Python would
have run without it, so that the script finds the world as it was.
"""

import importlib.machinery
import importlib.util
import os
import sys


def run_the_users_own():
    spec = importlib.machinery.PathFinder.find_spec("sitecustomize", sys.path)
    if spec is None or spec.loader is None:
        return
    module = importlib.util.module_from_spec(spec)
    sys.modules["sitecustomize"] = module
    spec.loader.exec_module(module)


folder = os.path.dirname(os.path.abspath(__file__))
import foreshard_rehearsal  # noqa: E402  (found in this folder, which then leaves the path)

sys.path[:] = [entry for entry in sys.path if os.path.abspath(entry or ".") != folder]
foreshard_rehearsal.begin()
run_the_users_own()
