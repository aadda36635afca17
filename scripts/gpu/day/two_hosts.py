#!/usr/bin/env python3
"""Runs a command as two ranks, each on a host of its own as far as NCCL can tell, so that both may use one GPU.

  two_hosts.py COMMAND...

Variables are those of torchrun; NCCL compares hosts by NCCL_HOSTID. In the arguments {rank} is the rank's number.
The exit status is the first that is not 0."""
import os
import socket
import subprocess
import sys


def free_port():
    with socket.socket() as any_port:
        any_port.bind(("127.0.0.1", 0))
        return any_port.getsockname()[1]


def main():
    common = dict(os.environ, WORLD_SIZE="2", MASTER_ADDR="127.0.0.1", MASTER_PORT=str(free_port()))
    ranks = [subprocess.Popen([word.replace("{rank}", str(rank)) for word in sys.argv[1:]],
                              env={**common, "RANK": str(rank), "LOCAL_RANK": "0", "NCCL_HOSTID": f"host{rank}"})
             for rank in range(2)]
    statuses = [rank.wait() for rank in ranks]
    sys.exit(next((status for status in statuses if status), 0))


if __name__ == "__main__":
    main()
