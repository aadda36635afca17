"""Counts that a backward pass reads: the gradient of a selection by a mask selects again. No mode looks on
there (values.py), so the node of the graph is told, by the number that autograd gives each node."""

import sys

from foreshard_rehearsal import device

_counts = {}  # number of a node: what its operator read


def remember(numbers):
    """Of the operator that is running, whose node is the latest."""
    if numbers and sys.modules["torch"].is_grad_enabled():
        _counts[sys.modules["torch"]._C._autograd._get_sequence_nr() - 1] = numbers


def prepare(roots):
    """Before a backward pass from these tensors."""
    if not _counts:
        return
    waiting = [root.grad_fn for root in roots if getattr(root, "grad_fn", None) is not None]
    seen = set(waiting)
    while waiting:
        node = waiting.pop()
        if (numbers := _counts.pop(node._sequence_nr(), None)) is not None:
            # No hook after it, which would keep the gradient alive for longer.
            node.register_prehook(lambda _gradients, numbers=numbers: device.answer(numbers))
        for following, _ in node.next_functions:
            if following is not None and following not in seen:
                seen.add(following)
                waiting.append(following)
