"""Which device tensors hold values that are known, and the values.

A fact belongs to a storage and lives as long as it does; views share it. It is dense, and the values then
stand in the device's memory, which is memory of this process; or uniform, and every element has one value,
which is written nowhere. A fact is assumed where the policy for unknown values took part in it. A storage
without a fact is unknown."""

import ctypes
import sys
from typing import NamedTuple, Optional, Union

MOST = 1 << 22  # elements that are computed for one tensor
MOST_FLOATS = 1 << 14  # of floats, which are known only where the host wrote them
MOST_COPIED = 1 << 16  # bytes, of which the device's own copies are real (device/interface.h)
_ATTRIBUTE = "_foreshard_fact"


class Fact(NamedTuple):
    assumed: bool
    value: Optional[Union[bool, int, float]] = None  # None: dense


def has_storage(tensor):
    """False of sparse tensors, which consist of others."""
    return tensor.layout is sys.modules["torch"].strided


def of(tensor):
    return getattr(tensor.untyped_storage(), _ATTRIBUTE, None)


def state(tensor, fact):
    setattr(tensor.untyped_storage(), _ATTRIBUTE, fact)


def forget(tensor):
    storage = tensor.untyped_storage()
    if getattr(storage, _ATTRIBUTE, None) is not None:
        setattr(storage, _ATTRIBUTE, None)


def is_exact(tensor):
    return not (tensor.dtype.is_floating_point or tensor.dtype.is_complex)


def is_small(tensor):
    return tensor.numel() <= (MOST if is_exact(tensor) else MOST_FLOATS)


def make_on_host():
    """The functions that make tensors, which then have to be told device="cpu". Scripts may have replaced those
    of the same names in `torch`, as DeepSpeed does while it makes a model."""
    return sys.modules["torch"]._C._VariableFunctions


def alias(tensor):
    """A host tensor over the same memory."""
    make = make_on_host()
    storage = tensor.untyped_storage()
    if storage.nbytes() == 0:
        return make.empty_strided(tensor.shape, tensor.stride(), dtype=tensor.dtype, device="cpu")
    memory = (ctypes.c_char * storage.nbytes()).from_address(storage.data_ptr())
    host = make.frombuffer(memory, dtype=sys.modules["torch"].uint8).untyped_storage()
    return make.empty(0, dtype=tensor.dtype, device="cpu").set_(
        host, tensor.storage_offset(), tensor.shape, tensor.stride()
    )


def values(tensor, fact):
    """The values of a known tensor as a host tensor, which is not to be written to."""
    if fact.value is None:
        return alias(tensor)
    one = make_on_host().full((), fact.value, dtype=tensor.dtype, device="cpu")
    return one.expand(tensor.shape)


def copied(tensor):
    """Makes a device tensor known that PyTorch has copied from the host without an operator that anybody sees."""
    if is_small(tensor) and tensor.numel() * tensor.element_size() <= MOST_COPIED:
        state(tensor, Fact(False))


def write(tensor, source, assumed):
    """Makes a device tensor known: `source` is a host tensor of its values, or a number for all of them."""
    is_number = not hasattr(source, "shape")
    covers = tensor.numel() * tensor.element_size() >= tensor.untyped_storage().nbytes()
    if covers and is_number:
        return state(tensor, Fact(assumed, source))
    before = of(tensor)
    if not is_small(tensor) or not covers and not _made_dense(tensor, before):
        return forget(tensor)
    if is_number:
        alias(tensor).fill_(source)
    else:
        alias(tensor).copy_(source)
    if not covers:
        assumed = assumed or before.assumed
    state(tensor, Fact(assumed))


def _made_dense(tensor, fact):
    """Writes a uniform storage out before a part of it gets other values; false where it cannot be."""
    if fact is None:
        return False
    if fact.value is not None:
        elements = tensor.untyped_storage().nbytes() // tensor.element_size()
        if elements > MOST:
            return False
        alias(tensor.detach().as_strided((elements,), (1,), 0)).fill_(fact.value)
    return True
