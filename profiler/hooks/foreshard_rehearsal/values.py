"""When values are followed: integers and booleans that come from the host are computed for real, beside the
device that computes nothing (operators.py).

A dispatch mode sees every operator but those of a backward pass and of attention that is composed of other
operators. Integers are rare there, and the mode would change what is allocated: autograd adds gradients, and
attention its mask, in place only where no mode looks on."""

import contextlib
import sys

from foreshard_hooks import imports
from foreshard_rehearsal import backward_counts, operators

_mode = []  # the one there is, once PyTorch is imported
_kept = []  # registered operators go with the library that registered them


def install():
    imports.after("torch", _begin)
    imports.after("torch.utils.checkpoint", _change_recomputation)


def _begin(torch):
    from torch.utils._python_dispatch import TorchDispatchMode

    plain = torch.Tensor.__torch_dispatch__

    class Values(TorchDispatchMode):
        supports_higher_order_operators = True  # compiled graphs call some at run time

        @classmethod
        def _should_skip_dynamo(cls):
            return False  # it would import all of Dynamo; see below

        @classmethod
        def is_infra_mode(cls):
            return True  # releases that do not know the next one ask for this

        @classmethod
        def ignore_compile_internals(cls):
            return True

        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            has_values = torch._C._len_torch_dispatch_stack() == 0  # none as of a compiler
            if not has_values or not hasattr(func, "_schema"):
                return func(*args, **(kwargs or {}))  # or an operator over functions
            if any(kind.__torch_dispatch__ is not plain for kind in types):
                return NotImplemented  # of a subclass, whose plain tensors come here later
            return operators.run(func, args, kwargs or {})

    def hide(dynamo):
        Values.__torch_dispatch__ = dynamo.disable(Values.__torch_dispatch__)

    imports.after("torch._dynamo", hide)
    if not hasattr(TorchDispatchMode, "ignore_compile_internals"):
        imports.after("torch._dynamo.guards", _change_guards)
    if not hasattr(TorchDispatchMode, "supports_higher_order_operators"):
        _change_operators_over_functions(torch)
    _mode.append(Values())
    _mode[0].__enter__()
    for module in (torch.autograd, torch.autograd.graph):
        imports.replace(module, "_engine_run_backward", _backward)
    _change_attention(torch)


def _change_guards(guards):
    """Compiled code is valid for the modes that its guards were made under. The compiler makes them under none, and in
    releases before that method such guards never hold under this mode: each call would be compiled again."""

    def under_mode(original):
        def __init__(self, *arguments, **named):
            with _mode[0] if is_in_torch_dispatch_mode() else contextlib.nullcontext():
                original(self, *arguments, **named)

        return __init__

    is_in_torch_dispatch_mode = sys.modules["torch.utils._python_dispatch"].is_in_torch_dispatch_mode
    imports.replace(guards.CheckFunctionManager, "__init__", under_mode)


def _change_operators_over_functions(torch):
    """In releases without that attribute each has a rule for each mode, or cannot run under it."""

    def with_rule(original):
        def dispatch(self, dispatch_key, /, *arguments, **named):
            self.python_key_table.setdefault(type(_mode[0]), lambda _, *inner, **more: self(*inner, **more))
            return original(self, dispatch_key, *arguments, **named)

        return dispatch

    imports.replace(torch._ops.HigherOrderOperator, "dispatch", with_rule)


def _is_on_top():
    length = sys.modules["torch"]._C._len_torch_dispatch_stack()
    top = sys.modules["torch"]._C._get_dispatch_stack_at
    return length > 0 and top(length - 1) is _mode[0]


def _without_mode(function):
    def run(*arguments, **named):
        if not _is_on_top():
            return function(*arguments, **named)
        _mode[0].__exit__(None, None, None)
        try:
            return function(*arguments, **named)
        finally:
            _mode[0].__enter__()

    return run


def _backward(original):
    run = _without_mode(original)

    def run_backward(tensors, *arguments, **named):
        backward_counts.prepare(tensors)
        return run(tensors, *arguments, **named)

    return run_backward


def _change_attention(torch):
    from torch import library

    operator = torch.ops.aten._scaled_dot_product_attention_math.default
    composed = torch._C.DispatchKey.CompositeImplicitAutograd
    _kept.append(library.Library("aten", "IMPL"))
    _kept[0].impl(
        operator,
        _without_mode(lambda *arguments, **named: operator._op_dk(composed, *arguments, **named)),
        "AutogradCUDA",
    )


def _change_recomputation(module):
    """A checkpointed forward pass that is computed again is a forward pass."""
    hook = getattr(module, "_recomputation_hook", None)
    if hook is None:
        return
    enter, leave = hook.__enter__, hook.__exit__

    def enter_with_mode(self):
        self.foreshard_entered = not _is_on_top()
        if self.foreshard_entered:
            _mode[0].__enter__()
        return enter(self)

    def leave_with_mode(self, *error):
        left = leave(self, *error)
        if self.foreshard_entered:
            _mode[0].__exit__(None, None, None)
        return left

    hook.__enter__, hook.__exit__ = enter_with_mode, leave_with_mode
