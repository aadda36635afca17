"""The buckets of DistributedDataParallel, which it makes anew before the second step's forward pass. Gradients
that were reduced in the old ones stay alive until NCCL's watchdog, a thread that looks every 100 ms, has seen
that their collectives have ended. Here it always has; on a GPU that depends on the moment."""

import sys

from foreshard_hooks import imports
from foreshard_rehearsal import record

_rebuilt = set()  # reducers that have made their buckets anew; each does so once


def change(module):
    from torch._C._distributed_c10d import Reducer

    imports.replace(Reducer, "_rebuild_buckets", lambda original: _rebuild(module, original))


def _rebuild(module, original):
    def rebuild(reducer):
        if reducer in _rebuilt:
            return original(reducer)
        _wait_for_watchdogs(module)
        if not original(reducer):
            return False
        _rebuilt.add(reducer)
        record.note(
            "DistributedDataParallel makes its buckets anew before step 2: on a GPU that still reduces in the "
            "old ones that step takes as much more as all gradients"
        )
        return True

    return rebuild


def _wait_for_watchdogs(module):
    torch = sys.modules["torch"]
    for group, (backend, _) in module._world.pg_map.items():
        if backend != "nccl":
            continue
        if isinstance(group._get_backend(torch.device("cuda")), module.ProcessGroupNCCL):
            group._wait_for_pending_works()  # later implementations have no such watchdog to wait for
