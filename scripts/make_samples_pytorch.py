#!/usr/bin/env python3
"""Records what traces/samples has of PyTorch.

    make_samples_pytorch.py cpu OUT         two FSDP2 ranks on the CPU over gloo, by torch.profiler
    make_samples_pytorch.py snapshot OUT    one of four FSDP2 ranks that runs out of memory
    make_samples_pytorch.py history OUT     requests that leave memory in pieces, until it runs out

The last two need a CUDA device. All that they record is decided on the host: the committed files
were made on a CUDA runtime in which every call succeeds and nothing is computed, with a device of
256 and of 512 MiB, so that they do not depend on a GPU. A larger device is limited to that.
"""
import gzip
import json
import os
import pathlib
import pickle
import sys
import warnings

import torch
import torch.distributed as dist
import torch.nn as nn
import torch.nn.functional as F
from torch.distributed.fsdp import fully_shard

warnings.filterwarnings("ignore")
HIDDEN, INNER, HEADS, VOCABULARY = 64, 128, 4, 256
DEVICE_MEBIBYTES = {"snapshot": 256, "history": 512}


class Block(nn.Module):
    def __init__(self, hidden, inner):
        super().__init__()
        self.norm = nn.RMSNorm(hidden)
        self.qkv = nn.Linear(hidden, 3 * hidden, bias=False)
        self.out = nn.Linear(hidden, hidden, bias=False)
        self.up = nn.Linear(hidden, inner, bias=False)
        self.down = nn.Linear(inner, hidden, bias=False)

    def forward(self, x):
        batch, tokens, hidden = x.shape
        q, k, v = (part.view(batch, tokens, HEADS, -1).transpose(1, 2)
                   for part in self.qkv(self.norm(x)).chunk(3, dim=-1))
        x = x + self.out(F.scaled_dot_product_attention(q, k, v, is_causal=True)
                         .transpose(1, 2).reshape(batch, tokens, hidden))
        return x + self.down(F.silu(self.up(self.norm(x))))


class Model(nn.Module):
    def __init__(self, hidden, inner, layers, vocabulary):
        super().__init__()
        self.embedding = nn.Embedding(vocabulary, hidden)
        self.layers = nn.ModuleList(Block(hidden, inner) for _ in range(layers))
        self.head = nn.Linear(hidden, vocabulary, bias=False)

    def forward(self, tokens):
        x = self.embedding(tokens)
        for layer in self.layers:
            x = layer(x)
        return self.head(x)


def shard(model):
    for layer in model.layers:
        fully_shard(layer)
    fully_shard(model)


def one_step(model, optimizer, tokens):
    optimizer.zero_grad()
    logits = model(tokens).flatten(0, 1)
    F.cross_entropy(logits.float(), tokens.flatten()).backward()
    optimizer.step()


def write_gzip(path, text):
    with open(path, "wb") as raw, gzip.GzipFile("", "wb", 9, raw, mtime=0) as file:
        file.write(text.encode())


def cpu_rank(rank, out):
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT="29513", RANK=str(rank),
                      WORLD_SIZE="2")
    torch.set_num_threads(1)
    torch.manual_seed(1)
    dist.init_process_group("gloo")
    model = Model(HIDDEN, INNER, 1, VOCABULARY)
    shard(model)
    optimizer = torch.optim.AdamW(model.parameters(), fused=True)
    tokens = torch.randint(VOCABULARY, (2, 32))
    schedule = torch.profiler.schedule(wait=0, warmup=1, active=2, repeat=1)
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU], schedule=schedule,
                                record_shapes=True, profile_memory=True) as profiler:
        for _ in range(3):
            one_step(model, optimizer, tokens)
            profiler.step()
    plain = pathlib.Path(out, f"raw{rank}.json")
    profiler.export_chrome_trace(str(plain))
    trace = json.loads(plain.read_text())
    plain.unlink()
    trace["traceName"] = f"rank{rank}.json"
    write_gzip(pathlib.Path(out, f"rank{rank}.json.gz"), json.dumps(trace, separators=(",", ":")))
    dist.destroy_process_group()


def cpu(out):
    folder = out / "pytorch_cpu"
    folder.mkdir(exist_ok=True)
    torch.multiprocessing.spawn(cpu_rank, (str(folder),), nprocs=2)


def shorten(snapshot):
    """Leaves out where PyTorch is installed, and stores each stack once."""
    known = {}

    def name(path):
        at = path.rfind("/torch/")
        return path[at + 1:] if at >= 0 else pathlib.Path(path).name

    def shared(record):
        stack = tuple((name(frame["filename"]), frame["line"], frame["name"])
                      for frame in record.get("frames", []))
        if stack not in known:
            known[stack] = [known.setdefault(frame, dict(zip(("filename", "line", "name"), frame)))
                            for frame in stack]
        return {**record, "frames": known[stack]}

    snapshot["device_traces"] = [[shared(event) for event in device]
                                 for device in snapshot["device_traces"]]
    for segment in snapshot["segments"]:
        segment["blocks"] = [shared(block) for block in segment["blocks"]]
    snapshot["segments"] = [shared(segment) for segment in snapshot["segments"]]
    return snapshot


def limit_device(mebibytes):
    """Where the device is larger than that."""
    total = torch.cuda.get_device_properties(0).total_memory
    if total > mebibytes * 2**20:
        torch.cuda.set_per_process_memory_fraction(mebibytes * 2**20 / total)


def snapshot_of_fsdp():
    """FSDP2 ranks' memory does not depend on what the others do: a group that is not there."""
    from torch.testing._internal.distributed.fake_pg import FakeStore
    dist.init_process_group("fake", store=FakeStore(), rank=0, world_size=4)
    limit_device(DEVICE_MEBIBYTES["snapshot"])
    torch.cuda.memory._record_memory_history(context="alloc", stacks="python")
    with torch.device("meta"):
        model = Model(512, 1024, 2, 8192)
    shard(model)
    model.to_empty(device="cuda")
    optimizer = torch.optim.AdamW(model.parameters(), fused=True)
    tokens = torch.zeros(4, 512, dtype=torch.int64, device="cuda")
    try:
        for sequences in (2, 4):
            tokens = torch.zeros(sequences, 512, dtype=torch.int64, device="cuda")
            one_step(model, optimizer, tokens)
    except torch.OutOfMemoryError:
        pass
    return torch.cuda.memory._snapshot()


def history_of_fragments():
    """Sequences that grow, each a little longer than what the last one left: memory is there, but
    in pieces that are too small."""
    torch.cuda.memory._record_memory_history(context=None)
    limit_device(DEVICE_MEBIBYTES["history"])
    kept = []
    try:
        for step in range(64):
            length = 24 + 3 * step
            work = [torch.empty(length * 2**18, dtype=torch.uint8, device="cuda") for _ in range(3)]
            kept.append(torch.empty(2**20 + step, dtype=torch.uint8, device="cuda"))
            del work
    except torch.OutOfMemoryError:
        pass
    return torch.cuda.memory._snapshot()


def event_list(snapshot):
    """The form that `foreshard replay` reads, see traces/allocator/allocator_history.hpp."""
    keys = {"action", "addr", "size", "stream", "device_free", "time_us"}
    lines = [{"device": 0, "settings": snapshot["allocator_settings"], "initial_segments": []}]
    lines += [{"addr": 0, **{key: value for key, value in event.items() if key in keys}}
              for event in snapshot["device_traces"][0]]
    return "".join(json.dumps(line, separators=(",", ":")) + "\n" for line in lines)


def cuda(out, what):
    if what == "snapshot":
        with open(out / "snapshot.pickle", "wb") as file:
            pickle.dump(shorten(snapshot_of_fsdp()), file, protocol=4)
    else:
        write_gzip(out / "history.jsonl.gz", event_list(history_of_fragments()))


if __name__ == "__main__":
    part, folder = sys.argv[1], pathlib.Path(sys.argv[2])
    if part == "cpu":
        cpu(folder)
    else:
        cuda(folder, part)
