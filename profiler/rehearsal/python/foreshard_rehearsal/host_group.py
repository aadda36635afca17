"""Collectives on the host (gloo) without other ranks: these hold what this rank holds.

Alone, it is a process group of Python's; beside NCCL in one group it must be a backend of C++, for which
PyTorch's own fake one serves: a Python group would replace NCCL's as well."""

import sys

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

        def _reduced(self, tensor, options):
            operation = getattr(options, "reduceOp", None)
            countable = tensor.numel() <= _LARGE and tensor.dtype != torch.bool
            if operation == module.ReduceOp.SUM and countable:
                tensor.mul_(self._size)

        def allreduce(self, tensors, options=None):
            for tensor in tensors:
                self._reduced(tensor, options)
            return Done(tensors)

        def allreduce_coalesced(self, tensors, options=None):
            return self.allreduce(tensors, options)

        def reduce(self, tensors, options=None):
            return self.allreduce(tensors, options)

        def broadcast(self, tensors, options=None):
            return Done(tensors)

        def allgather(self, outputs, inputs, options=None):
            for of_ranks, own in zip(outputs, inputs):
                for output in of_ranks:
                    copy(output, own)
            return Done(outputs)

        def _allgather_base(self, output, own, options=None):
            for part in output.view(self._size, -1):
                copy(part, own.reshape(-1))
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
            return Done(tensors)

        def recv(self, tensors, source, tag=0):
            return Done(tensors)

        def recv_anysource(self, tensors, tag=0):
            return Done(tensors)

    return HostGroup
