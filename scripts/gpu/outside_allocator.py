#!/usr/bin/env python3
"""Measures the device memory in use that PyTorch's caching allocator does not hold.

  outside_allocator.py > OUT.json

Writes one JSON object: the device, the versions of the libraries, and in `outside_bytes` the bytes in use outside the
allocator after each thing that may take some, in this order: the CUDA context, cuBLAS, other kernels, each kind of
attention, cuDNN's convolution, NCCL groups of one rank and their collectives. Nothing else may use the GPU meanwhile.
Needs PyTorch 2.6 or newer."""
import argparse
import json
import os

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel


class OutsideAllocator:
    """The bytes outside the allocator by what was done last."""

    def __init__(self):
        self.bytes = {}

    def mark(self, name):
        torch.cuda.synchronize()
        free, total = torch.cuda.mem_get_info()
        self.bytes[name] = total - free - torch.cuda.memory_reserved()


def context(outside):
    torch.cuda.init()
    torch.zeros(1, device="cuda")
    outside.mark("context")


def products_and_kernels(outside):
    a = torch.randn(4096, 4096, device="cuda", dtype=torch.bfloat16)
    a @ a
    outside.mark("cublas bf16")
    a.float() @ a.float()
    outside.mark("cublas fp32")
    F.layer_norm(a, (4096,))
    torch.sort(a.float().flatten())
    outside.mark("more kernels")


def attention(outside):
    shape = (2, 32, 2048, 128)
    inputs = [torch.randn(shape, device="cuda", dtype=torch.bfloat16, requires_grad=True) for _ in range(3)]
    for backend in (SDPBackend.FLASH_ATTENTION, SDPBackend.EFFICIENT_ATTENTION, SDPBackend.CUDNN_ATTENTION):
        with sdpa_kernel(backend):
            F.scaled_dot_product_attention(*inputs, is_causal=True).sum().backward()
        outside.mark("attention " + backend.name)


def convolution(outside):
    F.conv2d(torch.randn(8, 64, 64, 64, device="cuda"), torch.randn(64, 64, 3, 3, device="cuda"))
    outside.mark("cudnn convolution")


def nccl(outside):
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT="29511")
    dist.init_process_group("nccl", rank=0, world_size=1, device_id=torch.device("cuda", 0))
    outside.mark("nccl group of one")
    data = torch.empty(1 << 24, device="cuda")
    dist.all_gather_into_tensor(torch.empty_like(data), data)
    outside.mark("nccl all_gather")
    dist.reduce_scatter_tensor(torch.empty_like(data), data)
    dist.all_reduce(data)
    outside.mark("nccl reduce_scatter all_reduce")
    second = dist.new_group([0])
    dist.all_reduce(data, group=second)
    outside.mark("second nccl group")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.parse_args()
    outside = OutsideAllocator()
    for measure in (context, products_and_kernels, attention, convolution, nccl):
        measure(outside)
    print(json.dumps(dict(
        device=torch.cuda.get_device_name(),
        total=torch.cuda.mem_get_info()[1],
        properties=str(torch.cuda.get_device_properties(0)),
        torch=torch.__version__,
        cuda=torch.version.cuda,
        nccl=torch.cuda.nccl.version(),
        cudnn=torch.backends.cudnn.version(),
        outside_bytes=outside.bytes)))


if __name__ == "__main__":
    main()
