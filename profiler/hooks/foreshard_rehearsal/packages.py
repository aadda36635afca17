"""Names and versions of the installed packages that the script imported."""

import importlib.metadata
import sys


def top_level_names(distribution):
    """The modules that it states or, where it states none, those of its files."""
    stated = (distribution.read_text("top_level.txt") or "").split()
    return stated or {file.parts[0].partition(".")[0] for file in distribution.files or ()}


def imported():
    """(PyTorch's version or None, {package: version}), by the names of the package index."""
    if "torch" not in sys.modules:
        return None, {}
    tops = {name.partition(".")[0] for name in list(sys.modules)}
    # importlib.metadata.packages_distributions() came with Python 3.10.
    versions = {distribution.metadata["Name"]: distribution.version for distribution in importlib.metadata.distributions()
                if not tops.isdisjoint(top_level_names(distribution))}
    return str(sys.modules["torch"].__version__), dict(sorted(versions.items()))
