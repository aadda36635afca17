"""What ranks tell each other that only they have: objects, and integers whose values are known. A rank hears those
that run at the same time (--real-ranks), for which it waits, and those that ran before it (--rank 0,7), which do not
hear it. Every other rank of the job holds what this rank holds.

What is told is a file of a folder that all of them see. A process group's collectives come in one order on all
of its ranks, so that their number names them; transfers are numbered for each pair of ranks."""

import hashlib
import os
import pickle
import sys
import time

from foreshard_rehearsal import record, settings, user_code

_numbers = {}  # of calls so far, by their kind


def is_other(rank):
    """Whether this rank, which is not the one that runs here, runs or has run."""
    return rank != settings.RANK and rank in settings.REAL_RANKS | settings.EARLIER_RANKS


def of_all(ranks, value):
    """What each of a group's ranks brings to a collective, to which this one brings `value`."""
    if not settings.MEETING:
        return [value] * len(ranks)
    call = _Call("collective", ranks)
    call.tell(value)
    return [call.hear(rank, value) if is_other(rank) else value for rank in ranks]


def from_one(ranks, source, value):
    """What a collective delivers that rank `source` alone brings; `value` where that is this rank, or is not
    heard."""
    if not settings.MEETING:
        return value
    call = _Call("collective", ranks)
    if source == settings.RANK:
        call.tell(value)
    return call.hear(source, value) if is_other(source) else value


def send(value, destination, tag=0):
    if settings.MEETING:
        _Call("transfer", (settings.RANK, destination, tag)).tell(value)


def receive(source, tag=0, value=None):
    """From a rank for which is_other is true; `value` where one that ran before has not sent it."""
    return _Call("transfer", (source, settings.RANK, tag)).hear(source, value)


class _Call:
    def __init__(self, kind, ranks):
        key = kind, tuple(ranks)
        _numbers[key] = number = _numbers.get(key, 0) + 1
        self._name = f"{hashlib.sha1(repr(key).encode()).hexdigest()}.{number}"

    def tell(self, value):
        _write(f"{self._name}.{settings.RANK}", pickle.dumps(value))

    def hear(self, rank, value):
        path = _path(f"{self._name}.{rank}")
        pause = 0.0005
        while not os.path.exists(path):
            if rank in settings.EARLIER_RANKS:
                return value
            if os.path.exists(_path(f"ended.{rank}")) and not os.path.exists(path):
                record.give_up(f"{user_code.line()}: rank {rank} ended before it came here")
            time.sleep(pause)
            pause = min(2 * pause, 0.02)
        with open(path, "rb") as file:
            return pickle.load(file)


def end():
    """Tells the others that nothing more will come."""
    if settings.MEETING:
        _write(f"ended.{settings.RANK}", b"")


def _write(name, content):
    scratch = _path(f"{name}.new")
    with open(scratch, "wb") as file:
        file.write(content)
    os.replace(scratch, _path(name))


def _path(name):
    return os.path.join(settings.MEETING, name)


def global_ranks(group):
    """Of a process group of torch.distributed; None is all ranks."""
    module = sys.modules["torch.distributed.distributed_c10d"]
    return module.get_process_group_ranks(group or module.group.WORLD)
