"""The null device, which the command loaded before anything else: what it counted, and what it shall
answer. Every function does nothing where it is not loaded."""

import contextlib
import ctypes
import json
import os

_EMPTY = {
    "launches": 0,
    "matrix_products": 0,
    "cudnn_executions": 0,
    "cudnn_workspace_bytes": 0,
    "copies": 0,
    "collectives": [],
    "host_reads": 0,
    "host_waits": 0,
}
_loaded = ctypes.CDLL(None)


def _function(name, result, *arguments):
    try:
        function = getattr(_loaded, name)
    except AttributeError:
        return None
    function.restype, function.argtypes = result, arguments
    return function


_counts = _function("foreshard_rehearsal_counts", ctypes.c_char_p)
_notes = _function("foreshard_rehearsal_notes", ctypes.c_char_p)
_mark = _function("foreshard_rehearsal_mark", None, ctypes.c_char_p)
_log = _function("foreshard_rehearsal_log", None, ctypes.c_char_p)
_count_waits = _function("foreshard_rehearsal_count_waits", None, ctypes.c_int)
_next_count = _function("foreshard_rehearsal_next_count", None, ctypes.c_longlong)
_no_count = _function("foreshard_rehearsal_no_count", None)
_next_split = _function("foreshard_rehearsal_next_split", None, ctypes.c_int, ctypes.c_int)
_READER = ctypes.CFUNCTYPE(
    ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_char_p
)
_on_read = _function("foreshard_rehearsal_on_read", None, _READER)


def counts():
    """Calls since the last one of this function, in the form of a step of the answer."""
    return json.loads(_counts()) if _counts else dict(_EMPTY)


def notes():
    """What the device could not know, as sentences."""
    return _notes().decode().splitlines() if _notes else []


def mark(text):
    """Puts a line into the device's log."""
    if _mark:
        _mark(text.encode())


@contextlib.contextmanager
def uncounted_waits():
    """While this is entered no wait of this thread is counted."""
    if _count_waits is None:
        yield
        return
    _count_waits(0)
    try:
        yield
    finally:
        _count_waits(1)


def log(path):
    """Begins the device's log in this file; None ends it."""
    if _log:
        _log(None if path is None else os.fsencode(path))


def next_split(ranks, rank):
    """The next communicator that this thread splits off has so many ranks, of which this one is number `rank`."""
    if _next_split:
        _next_split(ranks, rank)


def _flag(value):
    @_READER
    def read(destination, _source, size, _kernel):
        if size != 1:
            return 0
        ctypes.c_bool.from_address(destination).value = value
        return 1

    return read


_FLAGS = {value: _flag(value) for value in (False, True)}


def answer(counts):
    """The next reads of one integer by this thread return these numbers, in order, and no earlier ones."""
    if _next_count is None:
        return
    _no_count()
    for count in counts:
        _next_count(count)


@contextlib.contextmanager
def answering(counts, flag=True):
    """While this is entered reads of one integer return these numbers, in order, and reads of one byte the
    flag: operators ask so whether their arguments are in order."""
    if _next_count is None:
        yield
        return
    answer(counts)
    _on_read(_FLAGS[flag])
    try:
        yield
    finally:
        _on_read(_READER())
        _no_count()
