#!/usr/bin/env python3
"""Step times of real training steps: random weights and tokens, one process per case. Collectives are a "loopback": every
other rank is taken to hold what this one holds, so an all-gather is a copy kernel into every slice and a reduce-scatter a
copy of the own slice: data stay finite and realistic, and the collectives' own time is that of these copies.
Usage: step_times.py REFERENCE OUT SECONDS [FILTER]
REFERENCE: the folder of make_memory_reference.py, with its cases, configs and llama.py."""
import json, os, re, sys, time
REFERENCE = os.path.abspath(sys.argv.pop(1))
out, seconds = sys.argv[1], float(sys.argv[2])
only = sys.argv[3] if len(sys.argv) > 3 else "."
null = "--null" in sys.argv
sys.argv = [sys.argv[0]] + ([] if null else ["--real"])
os.environ.update(TOKENIZERS_PARALLELISM="false", HF_HUB_OFFLINE="1", OMP_NUM_THREADS="1")
sys.path.insert(0, REFERENCE)
import make_memory_reference as M
import torch, torch.distributed as dist, torch.distributed.fsdp, transformers
from transformers import LlamaForCausalLM

B1 = dict(model="llama3.2-1b", batch=2, seq=2048)
B8 = dict(model="llama3.1-8b", batch=1, seq=4096, wrap="titan")
D = dict
CASES = [
    D(B1, id="1b_w1", world=1, kineto=1), D(B8, id="8b_w8", world=8, kineto=1), D(B1, id="1b_w1_compile", world=1, compile=1, kineto=1),
    D(B8, id="8b_w8_compile", world=8, compile=1, kineto=1), D(B8, id="8b_w8_ac_full", world=8, ac="full", kineto=1),
    D(B8, id="8b_w8_ac_selective_compile", world=8, ac="selective", compile=1, kineto=1), D(B8, id="8b_w8_cudnn", world=8, sdpa="cudnn", kineto=1),
    D(B1, id="1b_w8", world=8, kineto=1), D(B1, id="1b_w1_hf", world=1, impl="hf", kineto=1), D(B8, id="8b_w8_hf", world=8, impl="hf", kineto=1),
    D(B1, id="1b_w1_s512_b1", world=1, seq=512, batch=1, kineto=1), D(B1, id="1b_w1_fused", world=1, optim="adamw_fused"),
    D(B1, id="1b_w1_cudnn", world=1, sdpa="cudnn"), D(B1, id="1b_w1_b4", world=1, batch=4), D(B1, id="1b_w1_b8_ac", world=1, batch=8, ac="full"),
    D(B1, id="1b_w1_b1_s8k", world=1, batch=1, seq=8192), D(B8, id="8b_w8_b2_ac", world=8, batch=2, ac="full"),
    D(B8, id="8b_w8_s8k_ac", world=8, seq=8192, ac="full"), D(B8, id="8b_w64", world=64), D(B8, id="8b_w8_ac_selective", world=8, ac="selective"),
    D(B8, id="8b_w8_repeat_half", world=8, gqa="repeat", rope="half"), D(B8, id="8b_w8_s512", world=8, seq=512), D(B8, id="8b_w8_accum4_s1k", world=8, seq=1024, accum=4),
    D(B8, id="8b_w8_loss_bf16", world=8, loss="bf16"), D(B8, id="8b_w8_bf16", world=8, precision="bf16"),
    D(B1, id="1b_w8_fsdp1", world=8, api="fsdp1", wrap="layers", tie=0), D(B1, id="1b_w1_fp32_efficient", world=1, precision="fp32", sdpa="efficient", gqa="repeat"),
    D(B8, id="8b_w8_ac_full_compile", world=8, ac="full", compile=1), D(B8, id="8b_w8_b2_compile", world=8, batch=2, ac="selective", compile=1),
    D(B1, id="1b_w1_pure_bf16", world=1, precision="pure_bf16"), D(B1, id="1b_w8_hf_ac", world=8, impl="hf", ac="hf"),
    D(B8, id="70b_4l_w64", model="llama3.1-70b", layers=4, batch=1, seq=4096, world=64, kineto=1), D(B8, id="70b_4l_w64_ac_compile", model="llama3.1-70b", layers=4, batch=1, seq=4096, world=64, ac="full", compile=1),
    D(B8, id="8b_w8_s16k_ac_compile", world=8, seq=16384, ac="full", compile=1),
]

def loopback():
    def gather(output_tensor=None, input_tensor=None, group=None, async_op=False, **kw):
        n = output_tensor.numel() // input_tensor.numel()
        output_tensor.view(n, -1).copy_(input_tensor.view(1, -1).expand(n, -1))
    def scatter(output=None, input=None, op=None, group=None, async_op=False, **kw):
        output.view(-1).copy_(input.view(-1)[: output.numel()])
    for name in ("all_gather_into_tensor", "_all_gather_base"):
        setattr(dist, name, gather)
    for name in ("reduce_scatter_tensor", "_reduce_scatter_base"):
        setattr(dist, name, scatter)

def run(c, kineto):
    import torch.nn.functional as F
    from torch.testing._internal.distributed.fake_pg import FakeStore
    from torch.distributed.device_mesh import init_device_mesh
    M.set_environment(c)
    torch.manual_seed(0)
    s = c["sdpa"]
    torch.backends.cuda.enable_cudnn_sdp(s == "cudnn")
    torch.backends.cuda.enable_flash_sdp(s == "flash")
    torch.backends.cuda.enable_mem_efficient_sdp(s == "efficient" or c["precision"] == "fp32")
    torch.backends.cuda.enable_math_sdp(c["precision"] == "fp32")
    M.without_triton()
    dist.init_process_group("fake", store=FakeStore(), rank=0, world_size=c["world"])
    loopback()
    model, cfg = M.build_model(c)
    M.apply_ac(c, model)
    if c["compile"]:
        for b in M.blocks_of(c, model):
            b.compile(fullgraph=True)
    torch.cuda.init()
    if c["api"] == "fsdp2":
        mesh = init_device_mesh("cuda", (c["world"],))
        M.shard_fsdp2(c, model, mesh)
        M.materialise(c, model, None)
    else:
        model.to_empty(device="cuda")
        model = M.shard_fsdp1(c, model)
    with torch.no_grad():
        for n, p in model.named_parameters():
            p = getattr(p, "_local_tensor", p)
            p.fill_(1.0) if p.ndim == 1 and c["api"] == "fsdp2" else p.normal_(0, 0.02)
        for n, b in model.named_buffers():
            if b.is_complex():
                b.copy_(torch.polar(torch.ones(b.shape, device=b.device), torch.rand(b.shape, device=b.device) * 6.28))
            elif b.is_floating_point():
                b.normal_()
    kind = c["optim"]
    optim = torch.optim.AdamW(model.parameters(), lr=1e-4, foreach=True if kind.endswith("foreach") else None, **(dict(fused=True) if kind.endswith("fused") else {}))
    B, S = c["batch"], c["seq"]
    host = [torch.randint(cfg["vocab_size"], (B, S)).pin_memory() for _ in range(2 * c["accum"])]
    losses = []
    def forward(tokens, targets):
        if c["impl"] == "hf":
            return model(input_ids=tokens, labels=targets, use_cache=False).loss
        logits = model(tokens).flatten(0, 1)
        return F.cross_entropy(logits.float() if c["loss"] == "fp32" else logits, targets.flatten(0, 1))
    marks = lambda: torch.cuda.Event(enable_timing=True)
    def one_step(events=None):
        note = (lambda: None) if events is None else (lambda: (events.append(marks()), events[-1].record()))
        optim.zero_grad(set_to_none=True)
        for m in range(c["accum"]):
            tokens, targets = host[2 * m].cuda(non_blocking=True), host[2 * m + 1].cuda(non_blocking=True)
            loss = forward(tokens, targets)
            note()
            (loss / c["accum"] if c["accum"] > 1 else loss).backward()
            note()
            losses.append(loss.detach())
        if c["api"] == "fsdp1":
            model.clip_grad_norm_(1.0)
        else:
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        note()
        optim.step()
        note()
    t = time.perf_counter()
    for _ in range(3):
        one_step()
    torch.cuda.synchronize()
    warm = time.perf_counter() - t
    torch.cuda.reset_peak_memory_stats()
    wall, device, host_s, parts = [], [], [], []
    budget = time.perf_counter() + 4.0
    while len(wall) < 5 or (len(wall) < 12 and time.perf_counter() < budget):
        ev = []
        a, b = marks(), marks()
        torch.cuda.synchronize()
        t = time.perf_counter()
        a.record(); one_step(ev); b.record()
        h = time.perf_counter()
        torch.cuda.synchronize()
        wall.append(time.perf_counter() - t); host_s.append(h - t)
        device.append(a.elapsed_time(b) / 1e3)
        parts.append([x.elapsed_time(y) / 1e3 for x, y in zip([a] + ev, ev)])
    # the host alone, when it need not wait: steps back to back
    torch.cuda.synchronize()
    t = time.perf_counter()
    for _ in range(4):
        one_step()
    torch.cuda.synchronize()
    steady = (time.perf_counter() - t) / 4
    stats = torch.cuda.memory_stats()
    r = dict(c, device_name=torch.cuda.get_device_name(), wall_s=wall, host_s=host_s, device_s=device, steady_step_s=steady, parts=["forward", "backward"] * c["accum"] + ["clip", "optimizer"], parts_s=parts, warm_s=warm,
             loss=[float(x) for x in losses[-3:]], peak_allocated=stats["allocated_bytes.all.peak"], peak_active=stats["active_bytes.all.peak"], peak_reserved=stats["reserved_bytes.all.peak"])
    if kineto:
        from torch.profiler import ProfilerActivity, profile
        with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA], record_shapes=True) as prof:
            one_step()
            torch.cuda.synchronize()
        os.makedirs(os.path.join(out, "kineto"), exist_ok=True)
        prof.export_chrome_trace(os.path.join(out, "kineto", c["id"] + ".json.gz"))
    return r

start = time.time()
os.makedirs(out, exist_ok=True)
with open(os.path.join(out, "steps.jsonl"), "a") as f:
    for case in CASES:
        if not re.search(only, case["id"]):
            continue
        if time.time() - start > seconds:
            print("left out", case["id"]); continue
        c = dict(dict(M.DEFAULTS, compile=0), **{k: v for k, v in case.items() if k != "kineto"})
        t = time.time()
        a = M.child(lambda: run(c, case.get("kineto")))
        if "ok" in a:
            r = a["ok"]
            f.write(json.dumps(r) + "\n"); f.flush()
            w, d = sorted(r["wall_s"]), sorted(r["device_s"])
            print("%-28s wall %.1f ms host %.1f steady %.1f loss %.3f peak %.2f GiB (%.0f s)" % (c["id"], w[len(w)//2]*1e3, sorted(r["host_s"])[len(w)//2]*1e3, r["steady_step_s"]*1e3, r["loss"][-1], r["peak_allocated"]/2**30, time.time()-t), flush=True)
        else:
            print(c["id"], "FAILED", a["error"].strip()[-400:], flush=True)
