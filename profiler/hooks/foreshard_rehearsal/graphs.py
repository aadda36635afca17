"""CUDA graphs: what is captured into one is profiled, so that the step that launches it knows what that does."""

from foreshard_hooks import imports
from foreshard_rehearsal import capture


def install():
    imports.after("torch.cuda.graphs", _change)


def _change(module):
    def beginning(original):
        def capture_begin(self, *arguments, **named):
            capture.begin_graph()
            original(self, *arguments, **named)

        return capture_begin

    def ending(original):
        def capture_end(self):
            try:
                original(self)
            finally:
                capture.end_graph()

        return capture_end

    imports.replace(module.CUDAGraph, "capture_begin", beginning)
    imports.replace(module.CUDAGraph, "capture_end", ending)
