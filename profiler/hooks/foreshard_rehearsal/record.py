"""What the command is told: one JSON file, replaced whole whenever something is added that must outlive
the death of this process."""

import atexit
import json
import os
import sys

from foreshard_rehearsal import packages, settings

_facts = {
    "torch": None,
    "packages": {},
    "ranks": settings.RANKS,
    "representatives": [],  # ranks, one of each kind that this one tells apart
    "pipeline": [],  # ranks of the pipelines that this one is a stage of
    "steps": [],
    "oom": None,  # of an error that ended the run
    "refused_allocation": None,  # the last one, whatever the script made of it
    "invented": [],
    "notes": [],
    "ended_because": None,  # a sentence, where the rehearsal itself ended the script
    "captured": False,  # the last step, into files beside this one
    "has_ended": False,  # the interpreter's own end, or ours
}


def begin():
    write()
    atexit.register(_end_interpreter)
    os.register_at_fork(after_in_child=lambda: atexit.unregister(_end_interpreter))


def facts():
    return _facts


def note(sentence):
    """Something that was left out or done in another way; each sentence once."""
    if sentence not in _facts["notes"]:
        _facts["notes"].append(sentence)


def write():
    scratch = f"{settings.RECORD}.{os.getpid()}"
    with open(scratch, "w", encoding="utf-8") as file:
        json.dump(_facts, file)
    os.replace(scratch, settings.RECORD)


def _end():
    from foreshard_rehearsal import capture, device, out_of_memory, peers

    capture.stop()
    for sentence in device.notes():
        note(sentence)
    _facts["oom"] = out_of_memory.of_the_end()
    _facts["torch"], _facts["packages"] = packages.imported()
    _facts["has_ended"] = True
    write()
    peers.end()


def _end_interpreter():
    from foreshard_rehearsal import distributed

    _end()
    distributed.end()


def leave(status):
    """Ends this process at once, as what comes after the last step is not asked for."""
    _end()
    if "multiprocessing" in sys.modules:
        for child in sys.modules["multiprocessing"].active_children():
            child.kill()
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError, AttributeError):
            pass  # a closed or missing stream has nothing left to write
    os._exit(status)


def give_up(sentence):
    """Ends the script, which cannot go on without a value that nobody has. The sentence names the line."""
    _facts["ended_because"] = sentence
    leave(1)


def refuse(sentence):
    """Ends the process before the script runs: what was asked for cannot be."""
    with open(settings.RECORD, "w", encoding="utf-8") as file:
        json.dump({"refused": sentence}, file)
    os._exit(2)
