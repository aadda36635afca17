"""Launchers: torchrun, Accelerate and DeepSpeed start a process for each rank of a node. Their own code runs
up to there; then this process becomes the rank that is asked for, with the variables that the launcher has
for it. The other ranks are not started."""

import os
import subprocess
import sys

from foreshard_hooks import imports
from foreshard_rehearsal import record, settings, store

# Modules that start ranks, or another launcher that does.
_STARTING = (
    "torch.distributed.elastic.multiprocessing.",
    "accelerate.commands.launch",
    "deepspeed.launcher.",
)


def install():
    imports.replace(subprocess.Popen, "__init__", _popen)
    imports.after("torch.distributed.launcher.api", _change_agent)
    imports.after("deepspeed.launcher.runner", _change_runner)


def _popen(original):
    def __init__(self, args, *arguments, **named):
        # `python -m` runs a module under another name than its own.
        caller = sys._getframe(1).f_globals
        name = getattr(caller.get("__spec__"), "name", None) or caller.get("__name__", "")
        if not name.startswith(_STARTING):
            return original(self, args, *arguments, **named)
        environment = dict(named.get("env") or os.environ)
        if _is_launcher(name, args):
            _become(args, environment)
        _check(int(environment.get("WORLD_SIZE", "1")))
        if int(environment.get("RANK", "0")) == settings.RANK:
            environment["FORESHARD_REHEARSAL_RANKS"] = environment.get("WORLD_SIZE", "1")
            here = environment.get("LOCAL_WORLD_SIZE") or environment.get("LOCAL_SIZE") or "1"
            environment["FORESHARD_REHEARSAL_DEVICES"] = here
            _become(args, environment)
        self.args, self.pid, self.returncode = args, None, None

    return __init__


def _is_launcher(name, command):
    return name == "deepspeed.launcher.runner" or os.path.basename(command[0]) == "deepspeed"


def _become(command, environment):
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    os.execvpe(command[0], [str(word) for word in command], environment)


def _check(ranks):
    """Refuses what the command asks of a job that the launcher gives another size."""
    if settings.ASKED_RANKS not in (None, ranks):
        record.refuse(
            f"--ranks: {settings.ASKED_RANKS} is not the launcher's number of ranks; expected {ranks}, "
            "or no --ranks"
        )
    if settings.RANK >= ranks:
        record.refuse(
            f"--rank: {settings.RANK} is not a rank of the launcher's job; expected 0 to {ranks - 1}"
        )


def _change_agent(module):
    """torchrun's agents meet before they start anything; here all of them have come already."""
    from torch.distributed.elastic.agent.server import api as agents

    nodes = []  # how many, and which one this is

    def launch_agent(original):
        def meet_and_launch(config, entrypoint, args):
            here = config.nproc_per_node
            most = config.max_nodes * here
            fewer = (settings.ASKED_RANKS or most) // here
            nodes[:] = [
                fewer if config.min_nodes <= fewer <= config.max_nodes else config.max_nodes,
                settings.RANK // here,
            ]
            _check(nodes[0] * here)
            return original(config, entrypoint, args)

        return meet_and_launch

    def get_rendezvous_handler(_original):
        return lambda parameters: _meeting(parameters, *nodes)

    def assign_worker_ranks(_original):
        def assign(self, _store, node, nodes, spec):
            here = spec.local_world_size
            return [
                agents.Worker(local, node * here + local, node * here + local, nodes * here, nodes * here)
                for local in range(here)
            ]

        return assign

    imports.replace(module, "launch_agent", launch_agent)
    imports.replace(module.rdzv_registry, "get_rendezvous_handler", get_rendezvous_handler)
    imports.replace(agents.SimpleElasticAgent, "_assign_worker_ranks", assign_worker_ranks)


def _meeting(parameters, nodes, node):
    """A rendezvous in which this node is one of so many."""
    from torch.distributed import distributed_c10d
    from torch.distributed.elastic import rendezvous

    class Meeting(rendezvous.RendezvousHandler):
        use_agent_store = True

        def get_backend(self):
            return parameters.backend

        def next_rendezvous(self):
            return rendezvous.RendezvousInfo(
                store.make(distributed_c10d),
                node,
                nodes,
                rendezvous.RendezvousStoreInfo("localhost", 29500),
            )

        def is_closed(self):
            return False

        def set_closed(self):
            pass

        def num_nodes_waiting(self):
            return 0

        def get_run_id(self):
            return parameters.run_id

        def shutdown(self):
            return True

    return Meeting()


def _change_runner(module):
    """DeepSpeed logs in to the nodes of a host file; here it starts what is to run on this rank's."""
    parsed = []

    def parse_args(original):
        def parse(args=None):
            found = original(args)
            found.no_ssh = found.no_ssh_check = True
            found.node_rank = 0
            found.master_addr = found.master_addr or "localhost"
            parsed[:] = [found]
            return found

        return parse

    def encode_world_info(original):
        def encode(nodes):
            ranks = 0
            for node, slots in enumerate(nodes.values()):
                if ranks <= settings.RANK < ranks + len(slots):
                    parsed[0].node_rank = node
                ranks += len(slots)
            _check(ranks)
            return original(nodes)

        return encode

    imports.replace(module, "parse_args", parse_args)
    imports.replace(module, "encode_world_info", encode_world_info)
