"""Steps of a script: one ends when the first optimizer that ever steps with CUDA in use has stepped."""

import sys
import weakref

from foreshard_hooks import graphs, imports

_first = None  # weakly, that optimizer; once it is gone the next one takes its place
_parameters = {}  # that it stepped first, weakly, by identity: DeepSpeed's steps each group of them by itself


def after_each(function):
    """Calls function(optimizer) at the end of each step. Never, where PyTorch is older than hooks of optimizers.
    A compiled step leaves its graph for that, so that it is not compiled anew each time."""

    def end(optimizer):
        if _counts(optimizer):
            function(optimizer)

    def stepped(optimizer, _arguments, _named):
        if sys.modules["torch"].cuda.is_initialized() and not graphs.holds_step(optimizer):
            end(optimizer)

    def install(module):
        register = getattr(module, "register_optimizer_step_post_hook", None)
        if register is not None:
            uncompiled = getattr(sys.modules["torch"], "_disable_dynamo", lambda unchanged: unchanged)
            register(uncompiled(stepped))

    graphs.install(end)
    imports.after("torch.optim.optimizer", install)


def _counts(optimizer):
    global _first, _parameters
    stepped = [p for group in optimizer.param_groups for p in group["params"]]
    if _first is None or _first() is None:
        _first = weakref.ref(optimizer)
        _parameters = {id(p): weakref.ref(p) for p in stepped}
    return _first() is optimizer and any(_parameters.get(id(p), _nothing)() is p for p in stepped)


def _nothing():
    return None
