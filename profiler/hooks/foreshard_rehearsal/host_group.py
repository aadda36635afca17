"""Collectives on the host (gloo): ranks that do not run hold what this rank holds (peers.py).

Alone, it is a process group of Python's; beside NCCL in one group it must be a backend of C++, for which
PyTorch's own fake one serves: a Python group would replace NCCL's as well."""

import sys

from foreshard_rehearsal import mirror, peers

_LARGE = 1 << 16  # elements; the values of larger tensors are not made up


def make(module):
    """The class of such groups; `module` is torch.distributed.distributed_c10d."""
    torch = sys.modules["torch"]

    def copy(target, source):
        if target.numel() == source.numel() <= _LARGE and target.data_ptr() != source.data_ptr():
            target.copy_(source.reshape(target.shape))

    class Done(module.Work):
        def __init__(self, result):
            super().__init__()
            self._result = result

        def wait(self, timeout=None):
            return True

        def is_completed(self):
            return True

        def is_success(self):
            return True

        def get_future(self):
            future = torch.futures.Future()
            future.set_result(self._result)
            return future

    class HostGroup(module.ProcessGroup):
        def __init__(self, store, rank, size, timeout=None):
            super().__init__(rank, size)
            self._size = size

        def getBackendName(self):
            return "gloo"

        def _set_sequence_number_for_group(self):
            pass

        def _ranks(self):
            return peers.global_ranks(self)

        def _of_all(self, tensor):
            return peers.of_all(self._ranks(), tensor.clone() if tensor.numel() <= _LARGE else tensor)

        def _reduced(self, tensor, options):
            if tensor.numel() <= _LARGE:
                operation = getattr(options, "reduceOp", None)
                tensor.copy_(mirror.reduced(operation, self._of_all(tensor)))

        def allreduce(self, tensors, options=None):
            for tensor in tensors:
                self._reduced(tensor, options)
            return Done(tensors)

        def allreduce_coalesced(self, tensors, options=None):
            return self.allreduce(tensors, options)

        def reduce(self, tensors, options=None):
            return self.allreduce(tensors, options)

        def broadcast(self, tensors, options=None):
            root = self._ranks()[options.rootRank]
            for tensor in tensors:
                if tensor.numel() <= _LARGE:
                    copy(tensor, peers.from_one(self._ranks(), root, tensor))
            return Done(tensors)

        def allgather(self, outputs, inputs, options=None):
            for of_ranks, own in zip(outputs, inputs):
                for output, brought in zip(of_ranks, self._of_all(own)):
                    copy(output, brought)
            return Done(outputs)

        def _allgather_base(self, output, own, options=None):
            for part, brought in zip(output.view(self._size, -1), self._of_all(own)):
                copy(part, brought.reshape(-1))
            return Done([output])

        def allgather_into_tensor_coalesced(self, outputs, inputs, options=None):
            for output, own in zip(outputs, inputs):
                self._allgather_base(output, own)
            return Done(outputs)

        def gather(self, outputs, inputs, options=None):
            return self.allgather(outputs, inputs)

        def scatter(self, outputs, inputs, options=None):
            for output, of_ranks in zip(outputs, inputs):
                copy(output, of_ranks[self.rank()])
            return Done(outputs)

        def reduce_scatter(self, outputs, inputs, options=None):
            for output, of_ranks in zip(outputs, inputs):
                copy(output, of_ranks[self.rank()])
                self._reduced(output, options)
            return Done(outputs)

        def _reduce_scatter_base(self, output, whole, options=None):
            return self.reduce_scatter([output], [list(whole.view(self._size, -1))], options)

        def alltoall_base(self, output, whole, output_sizes, input_sizes, options=None):
            copy(output, whole)
            return Done([output])

        def alltoall(self, outputs, inputs, options=None):
            for output in outputs:
                copy(output, inputs[self.rank()])
            return Done(outputs)

        def barrier(self, options=None):
            return Done([])

        def send(self, tensors, to, tag=0):
            for tensor in tensors:
                peers.send(tensor.clone(), self._ranks()[to], tag)
            return Done(tensors)

        def recv(self, tensors, source, tag=0):
            for tensor in tensors:
                if peers.is_other(self._ranks()[source]):
                    tensor.copy_(peers.receive(self._ranks()[source], tag, tensor))
            return Done(tensors)

        def recv_anysource(self, tensors, tag=0):
            return Done(tensors)

    return HostGroup
