#!/usr/bin/env python3
"""Times whole training steps on the GPU of this machine: random weights and tokens, one process per case.

  step_times.py REFERENCE OUT [--seconds S] [--only REGEX] [--null]

Appends to OUT/steps.jsonl one line per case: the case, and of 5 to 12 steps that start on an idle GPU the time until
the step is done (`wall_s`), until the host has issued it (`host_s`) and between events on the GPU (`device_s`), the
last also for each part of the step (`parts`, `parts_s`); the time of a step among steps back to back (`steady_step_s`);
the losses and the peaks of memory. For some cases OUT/kineto/ID.json.gz is one more step, recorded by torch.profiler.
Collectives are a loopback: every other rank is taken to hold what this one holds, so an all-gather is a copy kernel
into every slice and a reduce-scatter a copy of the own slice. Data stay finite and realistic, and the time of the
collectives is that of these copies. Cases come in order of what they reveal; when S seconds have passed the rest is
left out. Needs PyTorch 2.6 or newer."""
import argparse
import json
import math
import os
import re
import time

import memory_reference
import torch
import torch.distributed as dist
import torch.nn.functional as F

WARM_UP_STEPS = 3
STEADY_STEPS = 4
MIN_STEPS, MAX_STEPS = 5, 12
MEASURE_S = 4.0                 # no further step of the least number starts after this

B1 = dict(model="llama3.2-1b", batch=2, seq=2048)
B8 = dict(model="llama3.1-8b", batch=1, seq=4096, wrap="titan")
B70 = dict(B8, model="llama3.1-70b", layers=4)
CASES = [
    dict(B1, id="1b_w1", world=1, kineto=1),
    dict(B8, id="8b_w8", world=8, kineto=1),
    dict(B1, id="1b_w1_compile", world=1, compile=1, kineto=1),
    dict(B8, id="8b_w8_compile", world=8, compile=1, kineto=1),
    dict(B8, id="8b_w8_ac_full", world=8, ac="full", kineto=1),
    dict(B8, id="8b_w8_ac_selective_compile", world=8, ac="selective", compile=1, kineto=1),
    dict(B8, id="8b_w8_cudnn", world=8, sdpa="cudnn", kineto=1),
    dict(B1, id="1b_w8", world=8, kineto=1),
    dict(B1, id="1b_w1_hf", world=1, impl="hf", kineto=1),
    dict(B8, id="8b_w8_hf", world=8, impl="hf", kineto=1),
    dict(B1, id="1b_w1_s512_b1", world=1, seq=512, batch=1, kineto=1),
    dict(B1, id="1b_w1_fused", world=1, optim="adamw_fused"),
    dict(B1, id="1b_w1_cudnn", world=1, sdpa="cudnn"),
    dict(B1, id="1b_w1_b4", world=1, batch=4),
    dict(B1, id="1b_w1_b8_ac", world=1, batch=8, ac="full"),
    dict(B1, id="1b_w1_b1_s8k", world=1, batch=1, seq=8192),
    dict(B8, id="8b_w8_b2_ac", world=8, batch=2, ac="full"),
    dict(B8, id="8b_w8_s8k_ac", world=8, seq=8192, ac="full"),
    dict(B8, id="8b_w64", world=64),
    dict(B8, id="8b_w8_ac_selective", world=8, ac="selective"),
    dict(B8, id="8b_w8_repeat_half", world=8, gqa="repeat", rope="half"),
    dict(B8, id="8b_w8_s512", world=8, seq=512),
    dict(B8, id="8b_w8_accum4_s1k", world=8, seq=1024, accum=4),
    dict(B8, id="8b_w8_loss_bf16", world=8, loss="bf16"),
    dict(B8, id="8b_w8_bf16", world=8, precision="bf16"),
    dict(B1, id="1b_w8_fsdp1", world=8, api="fsdp1", wrap="layers", tie=0),
    dict(B1, id="1b_w1_fp32_efficient", world=1, precision="fp32", sdpa="efficient", gqa="repeat"),
    dict(B8, id="8b_w8_ac_full_compile", world=8, ac="full", compile=1),
    dict(B8, id="8b_w8_b2_compile", world=8, batch=2, ac="selective", compile=1),
    dict(B1, id="1b_w1_pure_bf16", world=1, precision="pure_bf16"),
    dict(B1, id="1b_w8_hf_ac", world=8, impl="hf", ac="hf"),
    dict(B70, id="70b_4l_w64", world=64, kineto=1),
    dict(B70, id="70b_4l_w64_ac_compile", world=64, ac="full", compile=1),
    dict(B8, id="8b_w8_s16k_ac_compile", world=8, seq=16384, ac="full", compile=1),
]


def median(values):
    return sorted(values)[len(values) // 2]


def loop_back_collectives():
    """Replaces the collectives that FSDP calls by copies of this rank's data."""

    def gather(output_tensor=None, input_tensor=None, group=None, async_op=False, **_):
        ranks = output_tensor.numel() // input_tensor.numel()
        output_tensor.view(ranks, -1).copy_(input_tensor.view(1, -1).expand(ranks, -1))

    def scatter(output=None, input=None, op=None, group=None, async_op=False, **_):
        output.view(-1).copy_(input.view(-1)[: output.numel()])

    for name in ("all_gather_into_tensor", "_all_gather_base"):
        setattr(dist, name, gather)
    for name in ("reduce_scatter_tensor", "_reduce_scatter_base"):
        setattr(dist, name, scatter)


def choose_attention(case):
    """Leaves scaled_dot_product_attention the kernels of this case only."""
    kind, fp32 = case["sdpa"], case["precision"] == "fp32"
    torch.backends.cuda.enable_cudnn_sdp(kind == "cudnn")
    torch.backends.cuda.enable_flash_sdp(kind == "flash")
    torch.backends.cuda.enable_mem_efficient_sdp(kind == "efficient" or fp32)
    torch.backends.cuda.enable_math_sdp(fp32)


def sharded_model(reference, case):
    from torch.distributed.device_mesh import init_device_mesh
    model, config = reference.build_model(case)
    reference.apply_ac(case, model)
    if case["compile"]:
        for block in reference.blocks_of(case, model):
            block.compile(fullgraph=True)
    torch.cuda.init()
    if case["api"] == "fsdp2":
        reference.shard_fsdp2(case, model, init_device_mesh("cuda", (case["world"],)))
        reference.materialise(case, model, None)
    else:
        model.to_empty(device="cuda")
        model = reference.shard_fsdp1(case, model)
    return model, config


@torch.no_grad()
def fill_with_random_weights(case, model):
    for parameter in model.parameters():
        local = getattr(parameter, "_local_tensor", parameter)
        if local.ndim == 1 and case["api"] == "fsdp2":      # a norm's; FSDP1 has flat parameters only
            local.fill_(1.0)
        else:
            local.normal_(0, 0.02)
    for buffer in model.buffers():
        if buffer.is_complex():
            angles = torch.rand(buffer.shape, device=buffer.device) * 2 * math.pi
            buffer.copy_(torch.polar(torch.ones_like(angles), angles))
        elif buffer.is_floating_point():
            buffer.normal_()


class Training:
    """The model of a case, its optimizer and its tokens."""

    def __init__(self, reference, case):
        self.case = case
        self.model, config = sharded_model(reference, case)
        fill_with_random_weights(case, self.model)
        kind = case["optim"]
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=1e-4,
                                           foreach=True if kind.endswith("foreach") else None,
                                           fused=True if kind.endswith("fused") else None)
        shape = (case["batch"], case["seq"])
        self.batches = [[torch.randint(config["vocab_size"], shape).pin_memory() for _ in range(2)]
                        for _ in range(case["accum"])]
        self.losses = []

    def parts(self):
        """What step() marks the end of."""
        return ["forward", "backward"] * self.case["accum"] + ["clip", "optimizer"]

    def forward(self, tokens, targets):
        if self.case["impl"] == "hf":
            return self.model(input_ids=tokens, labels=targets, use_cache=False).loss
        logits = self.model(tokens).flatten(0, 1)
        return F.cross_entropy(logits.float() if self.case["loss"] == "fp32" else logits, targets.flatten(0, 1))

    def clip(self):
        if self.case["api"] == "fsdp1":
            self.model.clip_grad_norm_(1.0)
        else:
            torch.nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)

    def step(self, mark=lambda: None):
        """One step; `mark` is called at the end of each part."""
        micro_batches = self.case["accum"]
        self.optimizer.zero_grad(set_to_none=True)
        for batch in self.batches:
            tokens, targets = (host.cuda(non_blocking=True) for host in batch)
            loss = self.forward(tokens, targets)
            mark()
            (loss / micro_batches if micro_batches > 1 else loss).backward()
            mark()
            self.losses.append(loss.detach())
        self.clip()
        mark()
        self.optimizer.step()
        mark()


def recorded_event():
    event = torch.cuda.Event(enable_timing=True)
    event.record()
    return event


def seconds_of(function):
    start = time.perf_counter()
    function()
    torch.cuda.synchronize()
    return time.perf_counter() - start


def several_steps(training, count):
    for _ in range(count):
        training.step()


def steps_on_an_idle_gpu(training):
    """Steps that each start when the one before is done: the times of each, by name."""
    wall, host, device, parts = [], [], [], []
    until = time.perf_counter() + MEASURE_S
    while len(wall) < MIN_STEPS or (len(wall) < MAX_STEPS and time.perf_counter() < until):
        torch.cuda.synchronize()
        start = time.perf_counter()
        events = [recorded_event()]
        training.step(lambda: events.append(recorded_event()))
        end = recorded_event()
        issued = time.perf_counter()
        torch.cuda.synchronize()
        wall.append(time.perf_counter() - start)
        host.append(issued - start)
        device.append(events[0].elapsed_time(end) / 1e3)
        parts.append([begin.elapsed_time(end) / 1e3 for begin, end in zip(events, events[1:])])
    return dict(wall_s=wall, host_s=host, device_s=device, parts=training.parts(), parts_s=parts)


def record_step(training, path):
    from torch.profiler import ProfilerActivity, profile
    with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA], record_shapes=True) as recording:
        training.step()
        torch.cuda.synchronize()
    os.makedirs(os.path.dirname(path), exist_ok=True)
    recording.export_chrome_trace(path)


def measure(reference, case, kineto_path):
    """Runs in a process of its own."""
    from torch.testing._internal.distributed.fake_pg import FakeStore
    reference.set_environment(case)
    torch.manual_seed(0)
    choose_attention(case)
    reference.without_triton()
    dist.init_process_group("fake", store=FakeStore(), rank=0, world_size=case["world"])
    loop_back_collectives()
    training = Training(reference, case)
    warm = seconds_of(lambda: several_steps(training, WARM_UP_STEPS))
    torch.cuda.reset_peak_memory_stats()
    times = steps_on_an_idle_gpu(training)
    steady = seconds_of(lambda: several_steps(training, STEADY_STEPS)) / STEADY_STEPS
    stats = torch.cuda.memory_stats()
    answer = dict(case, device_name=torch.cuda.get_device_name(), **times, steady_step_s=steady, warm_s=warm,
                  loss=[float(loss) for loss in training.losses[-3:]],
                  peak_allocated=stats["allocated_bytes.all.peak"],
                  peak_active=stats["active_bytes.all.peak"],
                  peak_reserved=stats["reserved_bytes.all.peak"])
    if kineto_path:
        record_step(training, kineto_path)
    return answer


def run_case(reference, entry, out, file):
    start = time.time()
    case = reference.full({"compile": 0, **entry})
    kineto = case.pop("kineto", 0)
    kineto_path = os.path.join(out, "kineto", case["id"] + ".json.gz") if kineto else None
    answer = reference.child(lambda: measure(reference, case, kineto_path))
    if "error" in answer:
        print(case["id"], "FAILED", answer["error"].strip()[-400:], flush=True)
        return
    result = answer["ok"]
    file.write(json.dumps(result) + "\n")
    file.flush()
    print(f"{case['id']:28} wall {median(result['wall_s']) * 1e3:.1f} ms host {median(result['host_s']) * 1e3:.1f} "
          f"steady {result['steady_step_s'] * 1e3:.1f} loss {result['loss'][-1]:.3f} "
          f"peak {result['peak_allocated'] / 2**30:.2f} GiB ({time.time() - start:.0f} s)", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    memory_reference.add_arguments(parser)
    options = parser.parse_args()
    reference = memory_reference.load(options.reference, options.null)
    start = time.time()
    os.makedirs(options.out, exist_ok=True)
    with open(os.path.join(options.out, "steps.jsonl"), "a") as file:
        for entry in CASES:
            if not re.search(options.only, entry["id"]):
                continue
            if time.time() - start > options.seconds:
                print("left out", entry["id"])
                continue
            run_case(reference, entry, options.out, file)


if __name__ == "__main__":
    main()
