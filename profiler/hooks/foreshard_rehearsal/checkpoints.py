"""Saving: what is large is not written, as its values do not exist; the script is told that it was."""

from foreshard_hooks import imports
from foreshard_rehearsal import record

_LARGE = 1 << 24  # bytes of tensors in one torch.save


def install():
    imports.after("torch.serialization", lambda module: imports.replace(module, "save", _save))
    imports.after("torch.distributed.checkpoint.state_dict_saver", _change_saver)


def _change_saver(module):
    for name in ("save", "async_save", "save_state_dict"):
        imports.replace(module, name, _distributed)


def _save(original):
    def save(obj, f, *arguments, **named):
        if _bytes_in(obj) > _LARGE:
            record.note("torch.save of large tensors wrote nothing")
            return
        original(obj, f, *arguments, **named)

    return save


def _distributed(original):
    def save(*_arguments, **_named):
        record.note(f"torch.distributed.checkpoint.{original.__name__} wrote nothing")
        if original.__name__ != "async_save":
            return None
        import concurrent.futures

        written = concurrent.futures.Future()
        written.set_result(None)
        return written

    return save


def _bytes_in(value):
    """Bytes of the tensors in nested dictionaries and lists."""
    if isinstance(value, dict):
        return sum(map(_bytes_in, value.values()))
    if isinstance(value, (list, tuple)):
        return sum(map(_bytes_in, value))
    elements, size = getattr(value, "numel", None), getattr(value, "element_size", None)
    return elements() * size() if callable(elements) and callable(size) else 0
