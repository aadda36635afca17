"""Which module's call made a node of autograd's graph: nodes are numbered as they are made, and a call of a module
has made those between the numbers at its beginning and at its end.

Nothing is attached to tensors or nodes, so that what autograd keeps and frees stays as it is."""

import collections
import sys
import threading
import weakref

from foreshard_hooks import imports
from foreshard_rehearsal import modules, user_code

_MOST = 1 << 18  # calls that are remembered, the latest
_calls = {}  # thread: (first number, number after the last, weak reference to the module)


def install():
    imports.after("torch.nn.modules.module", _change)


def _change(module):
    torch = sys.modules["torch"]
    opened_range = modules.opened

    def remembering(original):
        def __call__(self, *arguments, **named):
            first = torch._C._autograd._get_sequence_nr()
            # What the compiler sees here must not depend on whether a step is captured.
            opened = None if torch.compiler.is_compiling() else opened_range(self)
            try:
                result = original(self, *arguments, **named)
            finally:
                if opened is not None:
                    opened.__exit__(None, None, None)
            after = torch._C._autograd._get_sequence_nr()
            if after > first:
                _of_thread(threading.get_ident()).append((first, after, weakref.ref(self)))
            return result

        def hide(dynamo):
            nonlocal opened_range
            opened_range = dynamo.disable(modules.opened)
            # The compiler passes over this function, and on to what it calls.
            dynamo.decorators.skip(__call__)

        imports.after("torch._dynamo", hide)
        return __call__

    imports.replace(module.Module, "__call__", remembering)


def _of_thread(thread):
    if thread not in _calls:
        _calls[thread] = collections.deque(maxlen=_MOST)
    return _calls[thread]


def around_running_node():
    """The modules, innermost first, whose calls made the node that this thread's backward pass executes; none
    where there is no such node."""
    node = sys.modules["torch"]._C._current_autograd_node()
    if node is None:
        return []
    number = node._sequence_nr()
    # Numbers are a thread's own: nodes are the main thread's, but for those of a forward pass that is computed
    # again in the middle of a backward pass, and differentiated there.
    main = threading.main_thread().ident
    calls = _of_thread(threading.get_ident() if _recomputes() else main)
    around = [module() for first, after, module in calls if first <= number < after]
    return [module for module in around if module is not None]


def latest():
    """Modules that the script's own thread called, the latest first, and outer ones before what they call."""
    calls = _of_thread(threading.main_thread().ident)
    found = {id(module): module for _, _, call in reversed(calls) if (module := call()) is not None}
    return list(found.values())


def _recomputes():
    """Whether this thread is inside the backward pass of a reentrant checkpoint."""
    return any(
        frame.f_code.co_name == "backward"
        and frame.f_code.co_filename == sys.modules["torch.utils.checkpoint"].__file__
        for frame in user_code.own_frames()
    )
