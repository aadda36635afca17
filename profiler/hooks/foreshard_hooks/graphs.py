"""CUDA graphs that hold steps of optimizers. Where an optimizer steps within a capture no step of the script has
ended: one ends whenever that graph is launched."""

import weakref

from foreshard_hooks import imports

_captured = []  # the graph that is being captured
_optimizers = weakref.WeakKeyDictionary()  # that stepped, by graph


def install(end_step):
    """`end_step` is called with the optimizer."""
    imports.after("torch.cuda.graphs", lambda module: _change(module, end_step))


def holds_step(optimizer):
    """Whether the step that the optimizer has done goes into a graph."""
    for graph in _captured:
        _optimizers[graph] = optimizer
    return bool(_captured)


def _change(module, end_step):
    def beginning(original):
        def capture_begin(self, *arguments, **named):
            original(self, *arguments, **named)
            _captured.append(self)

        return capture_begin

    def ending(original):
        def capture_end(self):
            _captured.clear()
            original(self)

        return capture_end

    def launching(original):
        def replay(self):
            original(self)
            if self in _optimizers:
                end_step(_optimizers[self])

        return replay

    imports.replace(module.CUDAGraph, "capture_begin", beginning)
    imports.replace(module.CUDAGraph, "capture_end", ending)
    imports.replace(module.CUDAGraph, "replay", launching)
