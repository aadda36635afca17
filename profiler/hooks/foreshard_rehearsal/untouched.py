"""Large host tensors whose values were never written: what is moved out of them is not written either, so that a
model whose parameters were not filled costs no memory when it is converted, copied or joined.

The mark is the storage's. It is a list of the small parts that the script did write, such as the row of a padding
token: they move as well. A larger write removes the mark."""

import sys

from foreshard_rehearsal import record

LARGE = 1 << 18  # elements
_MOST_PARTS = 16
_ATTRIBUTE = "_foreshard_untouched"
_MOVING = {"_to_copy", "clone", "cat", "stack"}


def _parts(tensor):
    return getattr(tensor.untyped_storage(), _ATTRIBUTE, None)


def _is_large(tensor):
    return tensor.device.type == "cpu" and tensor.numel() > LARGE


def _covers(tensor):
    return tensor.numel() * tensor.element_size() >= tensor.untyped_storage().nbytes()


def mark(tensor):
    """Its values are nobody's. Of a part of a storage nothing is kept, as the rest may have values."""
    if _is_large(tensor) and _covers(tensor):
        setattr(tensor.untyped_storage(), _ATTRIBUTE, [])


def written(tensor):
    """The script is about to write to it."""
    if tensor.device.type != "cpu" or (parts := _parts(tensor)) is None:
        return
    if tensor.numel() > LARGE or len(parts) == _MOST_PARTS:
        setattr(tensor.untyped_storage(), _ATTRIBUTE, None)
    else:
        parts.append((tensor.shape, tensor.stride(), tensor.storage_offset()))


def copied(target, source):
    """Whether nothing else is to be copied between these two."""
    if not (_is_large(target) and _is_large(source) and _can_move(source, target)):
        return False
    _move(source, target)
    return True


def moved(func, name, args, kwargs, tensors):
    """The result of an operator that only moves values, all of which are nobody's; or None."""
    if name not in _MOVING or kwargs.get("pin_memory") or kwargs.get("device") not in (None, _host()):
        return None
    if not all(_is_large(tensor) and _parts(tensor) is not None for tensor in tensors):
        return None
    on_meta = {**kwargs, "device": "meta"} if "device" in kwargs else kwargs
    form = func(*_without_values(args), **on_meta)
    if not all(_can_move(tensor, form) for tensor in tensors):
        return None
    result = sys.modules["torch"].empty_strided(form.shape, form.stride(), dtype=form.dtype)
    _move(tensors[0], result)
    return result


def _can_move(source, target):
    """Whether what the script wrote of the source has the same place in the target."""
    parts = _parts(source)
    whole = _covers(source) and _covers(target)
    same = (source.shape, source.stride()) == (target.shape, target.stride())
    return parts == [] or parts is not None and whole and same


def _move(source, target):
    record.note("large tensors on the host that nothing filled were moved without their values")
    mark(target)
    for part in _parts(source):
        target.as_strided(*part).copy_(source.as_strided(*part))
        _parts(target).append(part)


def _host():
    return sys.modules["torch"].device("cpu")


def _without_values(value):
    torch = sys.modules["torch"]
    if isinstance(value, torch.Tensor):
        return torch.empty_strided(value.shape, value.stride(), dtype=value.dtype, device="meta")
    if isinstance(value, (list, tuple)):
        return type(value)(map(_without_values, value))
    return value
