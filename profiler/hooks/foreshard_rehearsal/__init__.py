"""The hooks of a rehearsal: one process is a rank of a job whose other ranks do not exist.

`begin` is called before the script. Each module of this package changes one thing of PyTorch once
PyTorch is imported, and says so in the record where it left anything out. A process that the script
starts itself is not hooked: what it does is not the rank's.
"""

import os

_OWNER = "FORESHARD_REHEARSAL_OWNER"


def begin():
    if os.environ.setdefault(_OWNER, str(os.getpid())) != str(os.getpid()):
        return
    from foreshard_rehearsal import (
        absent_weights,
        checkpoints,
        distributed,
        graphs,
        initialization,
        interpreter,
        kinds,
        launchers,
        module_calls,
        out_of_memory,
        record,
        spawn,
        stand_ins,
        steps,
        values,
    )

    interpreter.check()
    record.begin()
    parts = (
        kinds,
        steps,
        graphs,
        module_calls,
        out_of_memory,
        values,
        initialization,
        absent_weights,
        stand_ins,
        distributed,
        spawn,
        launchers,
        checkpoints,
    )
    for part in parts:
        part.install()
