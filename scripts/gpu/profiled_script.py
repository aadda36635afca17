#!/usr/bin/env python3
"""A few training steps of a small transformer in PyTorch: what `foreshard profile` is tried on.

  profiled_script.py [KINETO.json.gz]

Prints how many kernels torch.profiler counts in the same work and how long they take together, and writes its
recording to KINETO.json.gz. Each step is an NVTX range. torch.profiler holds CUPTI too, so it comes second, in a process of its own: this script
starts itself again without the injection library."""
import os
import subprocess
import sys

import torch


def steps(count):
    torch.manual_seed(0)
    layer = torch.nn.TransformerEncoderLayer(1024, 16, 4096, dropout=0.0, batch_first=True)
    model = torch.nn.TransformerEncoder(layer, 4).cuda().bfloat16()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, foreach=True)
    for _ in range(count):
        with torch.cuda.nvtx.range("step"):
            x = torch.randn(4, 512, 1024, device="cuda", dtype=torch.bfloat16)
            model(x).float().pow(2).mean().backward()
            optimizer.step()
            optimizer.zero_grad()
    torch.cuda.synchronize()


def with_kineto(path):
    from torch.profiler import ProfilerActivity, profile
    with profile(activities=[ProfilerActivity.CUDA]) as recorded:
        steps(10)
    recorded.export_chrome_trace(path)
    kernels = [e for e in recorded.events() if e.device_type == torch.autograd.DeviceType.CUDA]
    total = sum(e.time_range.elapsed_us() for e in kernels)
    print(f"kineto: {len(kernels)} kernels and copies, {total:.1f} us")


def main():
    if os.environ.get("PROFILED_SCRIPT_IS_SECOND"):
        return with_kineto(sys.argv[1])
    steps(10)
    if len(sys.argv) > 1:
        clean = {k: v for k, v in os.environ.items() if "INJECTION" not in k}
        subprocess.run([sys.executable, *sys.argv], env={**clean, "PROFILED_SCRIPT_IS_SECOND": "1"}, check=True)


if __name__ == "__main__":
    main()
