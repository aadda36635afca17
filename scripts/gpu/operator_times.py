#!/usr/bin/env python3
"""Times the operators of a training step on the GPU of this machine, one by one, over the shapes of Llama models.

  operator_times.py OUT.csv [--seconds S] [--only REGEX]

Each line: operator, shape, dtype, the fewest bytes it must move, its floating-point operations, and the minimum and
median time of one call in microseconds. A call is timed inside a replayed CUDA graph of many calls (`graph` = 1), so
the host costs nothing; where an operator cannot be captured, many calls between two events are timed (`graph` = 0).
Inputs are random, and rotate among copies that together exceed the L2 cache. Groups of operators come in order of what
they reveal; when S seconds have passed the rest is left out. Needs PyTorch 2.6 or newer."""
import argparse
import csv
import functools
import math
import re
import subprocess
import threading
import time

import torch
import torch.nn.functional as F

L2_BYTES = 128 << 20          # more than any L2 so far
TARGET_S = 0.004              # GPU time of one measured replay
REPLAYS = 7

bf16, fp32 = torch.bfloat16, torch.float32
COLUMNS = ["group", "operator", "shape", "dtype", "bytes", "flops", "min_us", "median_us", "graph"]


def random_tensor(*shape, dtype=bf16):
    return torch.randn(*shape, device="cuda", dtype=dtype) * 0.1


def copies_of(bytes_per_set):
    return max(1, min(64, math.ceil(L2_BYTES / max(1, bytes_per_set))))


class Bench:
    """Writes one line per measured operator."""

    def __init__(self, path, only, graphs):
        self.graphs = graphs
        self.file = open(path, "w", newline="")
        self.writer = csv.DictWriter(self.file, COLUMNS, lineterminator="\n")
        self.writer.writeheader()
        self.only = re.compile(only or "")
        self.stream = torch.cuda.Stream()
        self.group = ""

    def write(self, **row):
        self.writer.writerow(dict(row, group=self.group))
        self.file.flush()

    def run(self, operator, shape, make, call, bytes_=0, flops=0, dtype="bf16", capture=True):
        """`make()` returns one set of inputs; `call(*set)` is the operator."""
        if not self.only.search(operator):
            return
        try:
            with torch.cuda.stream(self.stream):
                sets = [make() for _ in range(copies_of(bytes_))]
                times, graph = self.measure([functools.partial(call, *s) for s in sets], capture)
            times.sort()
            self.write(operator=operator, shape=shape, dtype=dtype, bytes=int(bytes_), flops=int(flops),
                       min_us=f"{times[0]:.3f}", median_us=f"{times[len(times) // 2]:.3f}", graph=int(graph))
        except (RuntimeError, torch.OutOfMemoryError) as e:
            print(f"{operator} {shape} {dtype}: {str(e).splitlines()[0][:160]}", flush=True)
            torch.cuda.synchronize()
        finally:
            sets = None
            self.trim()

    def trim(self):
        if torch.cuda.memory_reserved() > 40 << 30:
            torch.cuda.empty_cache()

    def measure(self, calls, capture):
        for c in calls[:3]:
            c()
        torch.cuda.synchronize()
        a, b = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        a.record()
        for i in range(4):
            calls[i % len(calls)]()
        b.record()
        b.synchronize()
        once = max(a.elapsed_time(b) / 4e3, 1e-6)
        count = max(len(calls) if once < 1e-4 else 1, min(200, math.ceil(TARGET_S / once)))

        def many():
            for i in range(count):
                calls[i % len(calls)]()
        replay = many
        graph = None
        if capture and self.graphs:
            try:
                graph = torch.cuda.CUDAGraph()
                with torch.cuda.graph(graph, stream=self.stream):
                    many()
                replay = graph.replay
            except RuntimeError:
                graph = None
                torch.cuda.synchronize()
        replay()
        times = []
        for _ in range(REPLAYS):
            a.record()
            replay()
            b.record()
            b.synchronize()
            times.append(a.elapsed_time(b) * 1e3 / count)
        return times, graph is not None


# ------------------------------------------------------------------------------------------ groups
WEIGHTS = [(4096, 4096), (1024, 4096), (14336, 4096), (4096, 14336), (128256, 4096), (2048, 2048), (512, 2048), (8192, 2048),
           (2048, 8192), (128256, 2048), (11008, 4096), (4096, 11008), (32000, 4096), (5120, 5120), (13824, 5120),
           (8192, 8192), (1024, 8192), (28672, 8192), (8192, 28672), (3072, 3072)]


def products(bench, tokens, weights, dtype=bf16, name="bf16"):
    e = 2 if dtype == bf16 else 4
    for n, k in weights:
        for t in tokens:
            if t * n * e > 6 << 30:
                continue
            size, flops = e * (t * k + n * k + t * n), 2 * t * n * k
            x, w, y = ((t, k), (n, k), (t, n))
            make = lambda *s: lambda: tuple(random_tensor(*d, dtype=dtype) for d in s)
            bench.run("matmul_forward", f"{t}x{n}x{k}", make(x, w), lambda a, b: a @ b.t(), size, flops, name)
            bench.run("matmul_input_gradient", f"{t}x{n}x{k}", make(y, w), lambda a, b: a @ b, size, flops, name)
            bench.run("matmul_weight_gradient", f"{t}x{n}x{k}", make(y, x), lambda a, b: a.t() @ b, size, flops, name)


def matmuls(bench):
    products(bench, (2048, 4096, 8192, 16384), WEIGHTS)
    products(bench, (128, 512, 1024), WEIGHTS[:10])


def matmul_waves(bench):
    """one more tile column at a time: what a partial last wave costs"""
    make = lambda t, n, k: lambda: (random_tensor(t, k), random_tensor(n, k))
    for t, k in ((4096, 4096), (2048, 2048)):
        for n in list(range(128, 2049, 128)) + list(range(2304, 8193, 256)) + [1000, 1500, 2100, 3000, 5000]:
            bench.run("matmul_forward", f"{t}x{n}x{k}", make(t, n, k), lambda a, b: a @ b.t(), 2 * (t * k + n * k + t * n), 2 * t * n * k)
    for k in (64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384):
        bench.run("matmul_forward", f"4096x4096x{k}", make(4096, 4096, k), lambda a, b: a @ b.t(), 2 * (2 * 4096 * k + 4096**2), 2 * 4096**2 * k)
    for t in (1, 2, 4, 8, 16, 32, 64, 192, 256, 384, 768, 1536, 3072, 6144):
        bench.run("matmul_forward", f"{t}x4096x4096", make(t, 4096, 4096), lambda a, b: a @ b.t(), 2 * (2 * t * 4096 + 4096**2), 2 * t * 4096**2)


def matmuls_fp32(bench):
    few = [(4096, 4096), (14336, 4096), (2048, 2048), (8192, 2048)]
    for tf32, name in ((False, "fp32"), (True, "tf32")):
        torch.backends.cuda.matmul.allow_tf32 = tf32
        products(bench, (512, 4096), few, fp32, name)
    torch.backends.cuda.matmul.allow_tf32 = False


def attention(bench):
    from torch.nn.attention import SDPBackend, sdpa_kernel
    kinds = {"flash": SDPBackend.FLASH_ATTENTION, "cudnn": SDPBackend.CUDNN_ATTENTION,
             "efficient": SDPBackend.EFFICIENT_ATTENTION, "math": SDPBackend.MATH}
    heads = [(32, 8, 128), (32, 8, 64), (32, 32, 128), (64, 8, 128), (16, 16, 96)]
    sizes = [(1, 2048), (1, 4096), (1, 8192), (2, 2048), (4, 4096), (1, 512), (8, 512), (1, 16384), (1, 32768)]
    for kind, backend in kinds.items():
        for h, kv, d in heads:
            for b, s in sizes:
                if kind == "math" and b * s * s * h > 1 << 32 or kind == "efficient" and s > 16384:
                    continue
                if kind in ("efficient", "math") and h != kv:
                    kv = h                     # these kernels see repeated key and value heads
                flops = 4 * b * h * s * s * d / 2
                size = 2 * b * s * d * (2 * h + 2 * kv)
                shape = f"b{b} h{h}/{kv} s{s} d{d}"

                def make():
                    return tuple(random_tensor(b, n, s, d).requires_grad_() for n in (h, kv, kv))

                def forward(q, k, v):
                    with sdpa_kernel(backend):
                        return F.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=h != kv)

                def make_backward():
                    q, k, v = make()
                    return q, k, v, forward(q, k, v), random_tensor(b, h, s, d)

                def backward(q, k, v, o, g):
                    torch.autograd.grad(o, (q, k, v), g, retain_graph=True)
                bench.run(f"attention_{kind}_forward", shape, make, forward, size, flops)
                bench.run(f"attention_{kind}_backward", shape, make_backward, backward, 2 * size, 2.5 * flops)


def memory_bound(bench):
    sizes = [1 << n for n in (12, 16, 18, 20, 22, 24, 26, 28)]
    one = lambda n, *types: lambda: tuple(random_tensor(n, dtype=t) for t in types)
    for n in sizes:
        bench.run("copy", n, one(n, bf16, bf16), lambda a, b: b.copy_(a), 4 * n)
        bench.run("copy", n, one(n, fp32, fp32), lambda a, b: b.copy_(a), 8 * n, dtype="fp32")
        bench.run("cast_fp32_to_bf16", n, one(n, fp32, bf16), lambda a, b: b.copy_(a), 6 * n, dtype="mixed")
        bench.run("cast_bf16_to_fp32", n, one(n, bf16, fp32), lambda a, b: b.copy_(a), 6 * n, dtype="mixed")
        bench.run("add", n, one(n, bf16, bf16, bf16), lambda a, b, c: torch.add(a, b, out=c), 6 * n)
        bench.run("multiply", n, one(n, bf16, bf16, bf16), lambda a, b, c: torch.mul(a, b, out=c), 6 * n)
        bench.run("silu", n, one(n, bf16), F.silu, 4 * n)
        bench.run("silu_backward", n, one(n, bf16, bf16), torch.ops.aten.silu_backward, 6 * n)
        bench.run("fill", n, one(n, fp32), lambda a: a.zero_(), 4 * n, dtype="fp32")
        bench.run("divide_in_place", n, one(n, fp32), lambda a: a.div_(3.0), 8 * n, dtype="fp32")
        bench.run("sum", n, one(n, fp32), lambda a: a.sum(), 4 * n, dtype="fp32")
    for t, d in ((512, 4096), (2048, 2048), (4096, 2048), (2048, 4096), (4096, 4096), (8192, 4096), (4096, 8192), (16384, 8192)):
        n = t * d
        weight = lambda: (random_tensor(t, d), random_tensor(d))
        bench.run("rms_norm_fused", f"{t}x{d}", weight, lambda x, w: torch.ops.aten._fused_rms_norm(x, [d], w, 1e-5), 4 * n)

        def norm_back():
            x, w = weight()
            return x, w, torch.ops.aten._fused_rms_norm(x, [d], w, 1e-5)[1], random_tensor(t, d)
        bench.run("rms_norm_fused_backward", f"{t}x{d}", norm_back,
                  lambda x, w, r, g: torch.ops.aten._fused_rms_norm_backward(g, x, [d], r, w, [True, True]), 6 * n)
        bench.run("transpose_copy", f"{t}x{d}", lambda: (random_tensor(1, t, d // 128, 128),),
                  lambda x: x.transpose(1, 2).contiguous(), 4 * n)
        bench.run("mean_of_squares_fp32", f"{t}x{d}", lambda: (random_tensor(t, d),), lambda x: x.float().pow(2).mean(-1), 2 * n)
    for t, h, d in ((2048, 32, 128), (4096, 32, 128), (8192, 64, 128), (4096, 32, 64)):
        def rope():
            return random_tensor(1, t, h, d), torch.randn(t, d // 2, device="cuda", dtype=torch.complex64)
        bench.run("rope_complex", f"{t}x{h}x{d}", rope, lambda x, c: torch.view_as_real(
            torch.view_as_complex(x.float().reshape(1, t, h, -1, 2)) * c.view(1, t, 1, -1)).flatten(3).type_as(x), 4 * t * h * d)


def vocabulary(bench):
    for t, v in ((2048, 128256), (4096, 128256), (8192, 128256), (4096, 32000), (8192, 32000)):
        n = t * v
        target = lambda: torch.randint(v, (t,), device="cuda")
        for dtype, e, name in ((fp32, 4, "fp32"), (bf16, 2, "bf16")):
            bench.run("log_softmax", f"{t}x{v}", lambda: (random_tensor(t, v, dtype=dtype),), lambda x: F.log_softmax(x, 1), 2 * e * n, dtype=name)
            bench.run("log_softmax_backward", f"{t}x{v}", lambda: tuple(random_tensor(t, v, dtype=dtype) for _ in range(2)),
                      lambda g, y: torch.ops.aten._log_softmax_backward_data(g, y, 1, dtype), 3 * e * n, dtype=name)
            bench.run("nll_loss", f"{t}x{v}", lambda: (random_tensor(t, v, dtype=dtype), target()), F.nll_loss, e * t, dtype=name)
            bench.run("nll_loss_backward", f"{t}x{v}", lambda: (random_tensor(1, dtype=dtype)[0], random_tensor(t, v, dtype=dtype), target(), torch.full((), float(t), device="cuda", dtype=dtype)),
                      lambda g, x, y, w: torch.ops.aten.nll_loss_backward(g, x, y, None, 1, -100, w), e * n, dtype=name)
    for t, v, d in ((2048, 128256, 2048), (4096, 128256, 4096), (8192, 128256, 4096), (4096, 32000, 4096)):
        ids = lambda: torch.randint(v, (1, t), device="cuda")
        bench.run("embedding", f"{t}x{v}x{d}", lambda: (random_tensor(v, d), ids()), lambda w, i: F.embedding(i, w), 4 * t * d)
        bench.run("embedding_backward", f"{t}x{v}x{d}", lambda: (random_tensor(1, t, d), ids()),
                  lambda g, i: torch.ops.aten.embedding_dense_backward(g, i, v, -1, False), 2 * (t * d + v * d), capture=False)


def optimizers(bench):
    shapes = {"1b": [(2048, 2048)] * 2 + [(512, 2048)] * 2 + [(8192, 2048)] * 3 + [(2048,)] * 2,
              "8b": [(4096, 4096)] * 2 + [(1024, 4096)] * 2 + [(14336, 4096)] * 3 + [(4096,)] * 2}
    for name, block in shapes.items():
        for ranks, blocks in ((8, 16), (64, 32), (1, 4), (512, 32)):
            sizes = [max(1, math.prod(s) // ranks) for s in block] * blocks
            n = sum(sizes)
            shape = f"{name} {blocks} blocks / {ranks}"
            for kind, fused in (("fused", True), ("foreach", False)):
                def make():
                    params = [torch.nn.Parameter(random_tensor(s, dtype=fp32)) for s in sizes]
                    for p in params:
                        p.grad = random_tensor(*p.shape, dtype=fp32)
                    o = torch.optim.AdamW(params, lr=1e-4, fused=fused, foreach=not fused)
                    o.step()
                    return (o,)
                bench.run(f"adamw_{kind}", shape, make, lambda o: o.step(), 28 * n, dtype="fp32", capture=fused)
            lists = lambda: ([random_tensor(s, dtype=fp32) for s in sizes],)
            bench.run("foreach_norm", shape, lists, lambda l: torch._foreach_norm(l), 4 * n, dtype="fp32")
            bench.run("foreach_multiply", shape, lists, lambda l: torch._foreach_mul_(l, 0.9), 8 * n, dtype="fp32")
            bench.run("foreach_copy_cast", shape, lambda: ([random_tensor(s, dtype=fp32) for s in sizes], [random_tensor(s) for s in sizes]),
                      lambda a, b: torch._foreach_copy_(b, a), 6 * n, dtype="mixed")


def sharding_copies(bench):
    """FSDP2's copies around its collectives: split of the all-gather output, chunk and cat of the gradients"""
    for name, block in (("1b", [2048 * 2048] * 2 + [512 * 2048] * 2 + [8192 * 2048] * 3), ("8b", [4096 * 4096] * 2 + [1024 * 4096] * 2 + [14336 * 4096] * 3)):
        for ranks in (2, 8, 64):
            n = sum(block)

            def gathered():
                whole = random_tensor(ranks, n // ranks)
                return whole, [torch.empty(ranks, s // ranks, device="cuda", dtype=bf16) for s in block]
            bench.run("split_with_sizes_copy", f"{name} block / {ranks}", gathered,
                      lambda w, o: torch.ops.fsdp.split_with_sizes_copy(w, [s // ranks for s in block], dim=1, out=o), 4 * n)
            bench.run("chunk_cat", f"{name} block / {ranks}", lambda: ([random_tensor(s) for s in block], torch.empty(ranks, n // ranks, device="cuda", dtype=fp32)),
                      lambda g, o: torch.ops.fsdp.chunk_cat([x.view(ranks, -1) for x in g], dim=0, num_chunks=ranks, out=o), 6 * n, dtype="mixed")


def host_copies(bench):
    for n in (1 << 10, 1 << 14, 1 << 18, 1 << 20, 1 << 22, 1 << 24, 1 << 26, 1 << 28, 1 << 30):
        device = torch.empty(n, dtype=torch.uint8, device="cuda")
        other = torch.empty_like(device)
        pinned, pageable = torch.empty(n, dtype=torch.uint8).pin_memory(), torch.zeros(n, dtype=torch.uint8)
        bench.run("copy_device_to_device", n, lambda: (), lambda: other.copy_(device), 2 * n, dtype="bytes")
        bench.run("copy_host_to_device_pinned", n, lambda: (), lambda: device.copy_(pinned, non_blocking=True), n, dtype="bytes")
        bench.run("copy_device_to_host_pinned", n, lambda: (), lambda: pinned.copy_(device, non_blocking=True), n, dtype="bytes")
        if n <= 1 << 28:
            bench.run("copy_host_to_device_pageable", n, lambda: (), lambda: device.copy_(pageable), n, dtype="bytes", capture=False)
            bench.run("copy_device_to_host_pageable", n, lambda: (), lambda: pageable.copy_(device), n, dtype="bytes", capture=False)


def host_times(bench):
    """what the host pays: microseconds of CPU time a call, nothing waited for"""
    x, w = random_tensor(64, 64), random_tensor(64, 64).requires_grad_()
    stream, event = torch.cuda.Stream(), torch.cuda.Event()
    parameters = [torch.nn.Parameter(random_tensor(64, dtype=fp32)) for _ in range(256)]
    for p in parameters:
        p.grad = torch.zeros_like(p)
    fused, foreach = torch.optim.AdamW(parameters, fused=True), torch.optim.AdamW(parameters, foreach=True)
    calls = {"add": lambda: x + x, "matmul": lambda: x @ x, "linear": lambda: F.linear(x, x), "linear_autograd": lambda: F.linear(x, w),
             "empty": lambda: torch.empty(64, device="cuda"), "view": lambda: x.view(-1), "copy": lambda: x.copy_(x), "record": event.record,
             "wait": lambda: stream.wait_event(event), "elementwise_autograd": lambda: w * x, "zeros_like": lambda: torch.zeros_like(x),
             "adamw_fused_256": fused.step, "adamw_foreach_256": foreach.step, "synchronize": torch.cuda.synchronize}
    for name, call in calls.items():
        times = []
        for _ in range(20):
            torch.cuda.synchronize()
            a = time.perf_counter()
            for _ in range(50 if "256" not in name else 2):
                call()
            times.append((time.perf_counter() - a) * 1e6 / (50 if "256" not in name else 2))
        times.sort()
        bench.write(operator="host_" + name, shape="", dtype="", bytes=0, flops=0, min_us=f"{times[0]:.3f}", median_us=f"{times[10]:.3f}", graph=0)
    for n in (1 << 20, 2 << 20, 20 << 20, 128 << 20, 1 << 30, 8 << 30):
        mallocs, frees = [], []
        for _ in range(5):
            torch.cuda.empty_cache()
            torch.cuda.synchronize()
            a = time.perf_counter()
            p = torch.cuda.caching_allocator_alloc(n)
            b = time.perf_counter()
            torch.cuda.caching_allocator_delete(p)
            c = time.perf_counter()
            torch.cuda.empty_cache()
            mallocs.append((b - a) * 1e6)
            frees.append((time.perf_counter() - c) * 1e6)
        for name, t in (("malloc", mallocs), ("free", frees)):
            t.sort()
            bench.write(operator="host_cuda_" + name, shape=n, dtype="bytes", bytes=n, flops=0, min_us=f"{t[0]:.3f}", median_us=f"{t[2]:.3f}", graph=0)
    # kernel to kernel on one stream: many empty-ish kernels in a graph, and launched
    tiny = random_tensor(32)
    bench.run("smallest_kernel", 32, lambda: (), lambda: tiny.add_(1.0))
    bench.run("smallest_kernel_launched", 32, lambda: (), lambda: tiny.add_(1.0), capture=False)


def contention(bench):
    """two streams at once: each line is the slowdown of the first by the second (time of one call with the second running always)"""
    a, b = random_tensor(4096, 4096), random_tensor(4096, 14336)
    big, other = random_tensor(1 << 28), random_tensor(1 << 28)
    host = torch.empty(1 << 30, dtype=torch.uint8).pin_memory()
    device = torch.empty(1 << 30, dtype=torch.uint8, device="cuda")
    firsts = {"matmul": lambda: a @ b, "copy": lambda: other[: 1 << 26].copy_(big[: 1 << 26]),
              "host_to_device": lambda: device[: 1 << 26].copy_(host[: 1 << 26], non_blocking=True)}
    seconds = {"nothing": None, "copy_kernel": lambda: other.copy_(big), "small_copy_kernel": lambda: other[: 1 << 20].copy_(big[: 1 << 20]),
               "host_to_device": lambda: device.copy_(host, non_blocking=True), "device_to_host": lambda: host.copy_(device, non_blocking=True),
               "matmul": lambda: a @ b}
    one, two = torch.cuda.Stream(), torch.cuda.Stream()
    for f, first in firsts.items():
        for s, second in seconds.items():
            if f == s:
                continue
            torch.cuda.synchronize()
            begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
            done = torch.cuda.Event()
            if second:
                with torch.cuda.stream(two):
                    for _ in range(400 if s == "small_copy_kernel" else 60):
                        second()
                    done.record()
            with torch.cuda.stream(one):
                for _ in range(3):
                    first()
                begin.record()
                for _ in range(10):
                    first()
                end.record()
            end.synchronize()
            still = second is None or not done.query()
            bench.write(operator=f"{f}_beside_{s}", shape="still running" if still else "second ended early", dtype="", bytes=0, flops=0,
                        min_us="", median_us=f"{begin.elapsed_time(end) * 100:.3f}", graph=0)
            torch.cuda.synchronize()


def sustained(bench, seconds=8):
    """one matrix product and one copy again and again: clock and power while they run"""
    samples, stop = [], threading.Event()

    def watch():
        while not stop.is_set():
            line = subprocess.run(["nvidia-smi", "--query-gpu=clocks.sm,clocks.mem,power.draw,temperature.gpu,clocks_event_reasons.active", "--format=csv,noheader,nounits"],
                                  capture_output=True, text=True).stdout.strip()
            samples.append(line)
            time.sleep(0.2)
    a, b = random_tensor(8192, 8192), random_tensor(8192, 8192)
    big, other = random_tensor(1 << 29), random_tensor(1 << 29)
    for name, call, flops, size in (("matmul", lambda: a @ b, 2 * 8192**3, 0), ("copy", lambda: other.copy_(big), 0, 4 << 29)):
        for _ in range(3):
            call()
        torch.cuda.synchronize()
        samples.clear()
        stop.clear()
        thread = threading.Thread(target=watch)
        thread.start()
        until, n = time.time() + seconds, 0
        slices = []
        while time.time() < until:
            x, y = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
            x.record()
            for _ in range(200):
                call()
            y.record()
            y.synchronize()
            slices.append(x.elapsed_time(y) * 5)
        stop.set()
        thread.join()
        for i, t in enumerate(slices):
            bench.write(operator=f"sustained_{name}", shape=f"slice {i}", dtype="bf16", bytes=size, flops=flops, min_us="", median_us=f"{t:.3f}", graph=0)
        for i, line in enumerate(samples):
            bench.write(operator=f"sustained_{name}_clock_power", shape=f"sample {i}: " + line, dtype="", bytes=0, flops=0, min_us="", median_us="", graph=0)


GROUPS = [matmuls, attention, memory_bound, vocabulary, optimizers, sharding_copies, host_copies, host_times, matmul_waves, contention, sustained, matmuls_fp32]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out")
    parser.add_argument("--seconds", type=float, default=600)
    parser.add_argument("--only", help="regular expression on the operator")
    parser.add_argument("--no-graphs", action="store_true", help="launch each call")
    parser.add_argument("--groups", help="names of groups, separated by commas", default="")
    options = parser.parse_args()
    bench = Bench(options.out, options.only, not options.no_graphs)
    start = time.time()
    for group in GROUPS:
        if options.groups and group.__name__ not in options.groups.split(","):
            continue
        if time.time() - start > options.seconds:
            print("left out:", group.__name__)
            continue
        bench.group = group.__name__
        began = time.time()
        try:
            group(bench)
        except Exception as e:  # one group that fails must not cost the others
            print(group.__name__, "FAILED:", repr(e)[:300], flush=True)
        torch.cuda.synchronize()
        torch.cuda.empty_cache()
        print(f"{group.__name__}: {time.time() - began:.1f} s", flush=True)


if __name__ == "__main__":
    main()
