"""Large tensors on the host are not filled with random numbers: a rehearsal needs their sizes only, and
filling 8 billion of them takes minutes and the memory of all."""

from foreshard_hooks import imports
from foreshard_rehearsal import record, untouched

_METHODS = (
    "normal_",
    "uniform_",
    "exponential_",
    "cauchy_",
    "log_normal_",
    "geometric_",
    "bernoulli_",
    "random_",
)
_FUNCTIONS = (
    "uniform_",
    "normal_",
    "trunc_normal_",
    "xavier_uniform_",
    "xavier_normal_",
    "kaiming_uniform_",
    "kaiming_normal_",
    "orthogonal_",
    "sparse_",
    "eye_",
    "dirac_",
)


def install():
    imports.after("torch", lambda torch: _change(torch.Tensor, _METHODS))
    imports.after("torch.nn.init", lambda module: _change(module, _FUNCTIONS))


def _change(owner, names):
    for name in names:
        imports.replace(owner, name, _skipping)


def _skipping(original):
    def fill(*arguments, **named):
        tensor = arguments[0] if arguments else named.get("tensor")
        if tensor.device.type != "cpu" or tensor.numel() <= untouched.LARGE:
            return original(*arguments, **named)
        untouched.mark(tensor)
        record.note("large tensors on the host were not filled with random numbers")
        return tensor

    return fill
