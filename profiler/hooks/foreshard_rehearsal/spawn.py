"""torch.multiprocessing.spawn runs the function of this rank in this process, and no other."""

from foreshard_hooks import imports
from foreshard_rehearsal import record, settings


def install():
    imports.after("torch.multiprocessing.spawn", _change)


def _change(module):
    def start_processes(
        fn, args=(), nprocs=1, join=True, daemon=False, start_method="spawn", **_more
    ):
        process = settings.RANK % nprocs
        record.note(f"mp.spawn of {nprocs} processes: process {process} ran, in this process")
        fn(process, *args)

    def spawn(fn, args=(), nprocs=1, join=True, daemon=False, start_method="spawn"):
        start_processes(fn, args, nprocs)

    imports.replace(module, "start_processes", lambda _: start_processes)
    imports.replace(module, "spawn", lambda _: spawn)
