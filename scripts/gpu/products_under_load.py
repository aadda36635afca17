#!/usr/bin/env python3
"""What a GPU's power limit leaves to matrix products in bf16, and how fast float8's are by their scales.

  products_under_load.py OUT.jsonl

Of `duty`: products of a Llama's shape among copies that fill the memory's bandwidth for the rest of the time, each share for
some seconds: rates of both, and what nvidia-smi says then (clock in MHz, watts, degrees, limit in watts). Of `float8`:
milliseconds of a product in bf16 and in float8 with a scale per tensor and per row, with fast accumulation and without."""
import json
import subprocess
import sys
import time

import torch

TOKENS, OUTPUTS, INPUTS = 4096, 14336, 4096
PRODUCT_FLOPS = 700e12      # about; of bytes too
COPY_BYTES = 3.0e12
SHARES = (0.3, 0.5, 0.65, 0.8, 1.0)
SECONDS, ROUND = 2.5, 200
SHAPES = ((4096, 4096), (1024, 4096), (14336, 4096), (4096, 14336), (8192, 8192), (28672, 8192), (8192, 28672))


def state_of_gpu():
    query = "--query-gpu=clocks.sm,power.draw,temperature.gpu,power.limit"
    return subprocess.run(["nvidia-smi", query, "--format=csv,noheader,nounits"], capture_output=True,
                          text=True).stdout.strip()


def event():
    made = torch.cuda.Event(enable_timing=True)
    made.record()
    return made


def median(values):
    return sorted(values)[len(values) // 2]


def under_load(share):
    x = torch.randn(TOKENS, INPUTS, device="cuda", dtype=torch.bfloat16)
    w = torch.randn(OUTPUTS, INPUTS, device="cuda", dtype=torch.bfloat16) * 0.02
    flops = 2 * TOKENS * OUTPUTS * INPUTS
    elements = int(flops / PRODUCT_FLOPS * (1 - share) / share * COPY_BYTES / 4)
    source, target = (torch.randn(elements, device="cuda", dtype=torch.bfloat16) for _ in range(2))
    until = time.monotonic() + SECONDS
    while time.monotonic() < until:
        moments = []
        for _ in range(ROUND):
            begin = event()
            x @ w.t()
            middle = event()
            if elements:
                torch.mul(source, 1.0001, out=target)
            moments.append((begin, middle, event()))
        state = state_of_gpu()
        torch.cuda.synchronize()
    product = median([a.elapsed_time(b) for a, b, _ in moments])
    copy = median([b.elapsed_time(c) for _, b, c in moments])
    return {"kind": "duty", "duty": product / (product + copy), "product_ms": product,
            "tflops": flops / product / 1e9, "copy_ms": copy, "smi": state}


def milliseconds(function, count=60):
    for _ in range(10):
        function()
    moments = []
    for _ in range(count):
        begin = event()
        function()
        moments.append((begin, event()))
    torch.cuda.synchronize()
    return median([a.elapsed_time(b) for a, b in moments])


def float8(m, n, k):
    def drawn(rows, columns, dtype):
        return torch.randn(rows, columns, device="cuda").to(dtype)
    a, b = drawn(m, k, torch.bfloat16), drawn(n, k, torch.bfloat16)
    a8, b8 = drawn(m, k, torch.float8_e4m3fn), drawn(n, k, torch.float8_e4m3fn)
    scales = {"tensor": [torch.ones((), device="cuda")] * 2,
              "row": [torch.ones(m, 1, device="cuda"), torch.ones(1, n, device="cuda")]}
    times = {f"{name}_fast{int(is_fast)}_ms": milliseconds(lambda: torch._scaled_mm(
        a8, b8.t(), scale_a=of_a, scale_b=of_b, out_dtype=torch.bfloat16, use_fast_accum=is_fast))
        for name, (of_a, of_b) in scales.items() for is_fast in (True, False)}
    return {"kind": "float8", "m": m, "n": n, "k": k, "bf16_ms": milliseconds(lambda: a @ b.t()), **times}


def main():
    with open(sys.argv[1], "a") as out:
        for row in (*map(under_load, SHARES), *(float8(m, *shape) for m in (4096, 16384) for shape in SHAPES)):
            out.write(json.dumps(row) + "\n")


if __name__ == "__main__":
    main()
