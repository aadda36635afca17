"""Names and versions of the installed packages that the script imported."""

import importlib.metadata
import sys


def imported():
    """(PyTorch's version or None, {package: version}), by the names of the package index."""
    if "torch" not in sys.modules:
        return None, {}
    tops = {name.partition(".")[0] for name in list(sys.modules)}
    versions = {}
    for top, distributions in importlib.metadata.packages_distributions().items():
        if top in tops:
            for name in distributions:
                versions[name] = importlib.metadata.version(name)
    return str(sys.modules["torch"].__version__), dict(sorted(versions.items()))
