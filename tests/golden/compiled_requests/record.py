#!/usr/bin/env python3
"""Writes what PyTorch's CUDA allocator is asked for in the third training step of a Llama whose blocks torch.compile
compiled, one rank of 8 under FSDP2 (the process group is torch's "fake" backend, so one process is enough); and how
many bytes the fused kernels of what was compiled move, as Inductor counts them: what each reads and writes, once.

    record.py NAME LAYERS CHECKPOINTING QUERIES LOSS [FLOAT8] > NAME.csv

CHECKPOINTING: none, selective (every second aten.mm, attention and float8's maxima are saved) or full. QUERIES: repeated (keys and
values are expanded to all heads) or grouped. LOSS: whole or compiled. FLOAT8: a recipe of torchao 0.17 (tensorwise,
rowwise, rowwise_with_gw_hp) for the linears of blocks. Needs PyTorch 2.11 and a device, or a CUDA runtime that succeeds
at everything and computes nothing: the host alone decides what is requested.
"""
import collections, sys
import torch, torch.distributed as dist, torch.nn as nn, torch.nn.functional as F
from torch.distributed.algorithms._checkpoint.checkpoint_wrapper import checkpoint_wrapper
from torch._inductor.graph import GraphLowering
from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard
from torch.testing._internal.distributed.fake_pg import FakeStore
from torch.utils.checkpoint import CheckpointPolicy, create_selective_checkpoint_contexts

name, layers, checkpointing, queries, loss_kind, *recipe = sys.argv[1:]
B, S, D, H, K, d, INNER, V, RANKS = 1, 8192, 4096, 32, 8, 128, 14336, 128256, 8     # Llama-3.1-8B
aten = torch.ops.aten


def rotated(x, table):
    c = torch.view_as_complex(x.float().reshape(*x.shape[:-1], -1, 2)) * table.view(1, S, 1, -1)
    return torch.view_as_real(c).flatten(3).type_as(x)


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.wq, self.wk, self.wv, self.wo = (nn.Linear(i, o, bias=False) for i, o in ((D, H * d), (D, K * d), (D, K * d), (H * d, D)))

    def forward(self, x, table):
        q, k, v = self.wq(x).view(B, S, H, d), self.wk(x).view(B, S, K, d), self.wv(x).view(B, S, K, d)
        q, k = rotated(q, table), rotated(k, table)
        if queries == "repeated":
            k, v = (t[:, :, :, None, :].expand(B, S, K, H // K, d).reshape(B, S, H, d) for t in (k, v))
        out = F.scaled_dot_product_attention(*(t.transpose(1, 2) for t in (q, k, v)), is_causal=True, enable_gqa=queries == "grouped")
        return self.wo(out.transpose(1, 2).contiguous().view(B, S, -1))


class FeedForward(nn.Module):
    def __init__(self):
        super().__init__()
        self.w1, self.w2, self.w3 = nn.Linear(D, INNER, bias=False), nn.Linear(INNER, D, bias=False), nn.Linear(D, INNER, bias=False)

    def forward(self, x):
        return self.w2(F.silu(self.w1(x)) * self.w3(x))


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.attention, self.feed_forward = Attention(), FeedForward()
        self.attention_norm, self.ffn_norm = nn.RMSNorm(D, eps=1e-5), nn.RMSNorm(D, eps=1e-5)

    def forward(self, x, table):
        h = x + self.attention(self.attention_norm(x), table)
        return h + self.feed_forward(self.ffn_norm(h))


class Llama(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding, self.norm, self.output = nn.Embedding(V, D), nn.RMSNorm(D, eps=1e-5), nn.Linear(D, V, bias=False)
        self.layers = nn.ModuleList(Block() for _ in range(int(layers)))
        self.register_buffer("table", torch.empty(S, d // 2, dtype=torch.complex64), persistent=False)

    def forward(self, tokens):
        h = self.embedding(tokens)
        for layer in self.layers:
            h = layer(h, self.table)
        return self.output(self.norm(h))


def contexts():
    seen = collections.Counter()

    def policy(ctx, op, *args, **kwargs):
        seen[op, ctx.is_recompute] += 1
        saves = op in (aten._scaled_dot_product_flash_attention.default, aten.max.default) or op is aten.mm.default and seen[op, ctx.is_recompute] % 2
        return CheckpointPolicy.MUST_SAVE if saves else CheckpointPolicy.PREFER_RECOMPUTE
    return create_selective_checkpoint_contexts(policy)


def cross_entropy(logits, targets):
    return F.cross_entropy(logits.float(), targets.flatten())


def compile_to_module(graph, compiler=GraphLowering.compile_to_module):
    global moved
    module = compiler(graph)
    moved += sum(kernel.get_read_write_buffers_sizes() for kernel in graph.scheduler.nodes if not kernel.is_extern())
    return module


moved, GraphLowering.compile_to_module = 0, compile_to_module
torch.backends.cuda.enable_cudnn_sdp(False)
dist.init_process_group("fake", store=FakeStore(), rank=0, world_size=RANKS)
with torch.device("meta"):
    model = Llama()
if recipe:
    from torchao.float8 import Float8LinearConfig, convert_to_float8_training
    convert_to_float8_training(model, config=Float8LinearConfig.from_recipe_name(*recipe), module_filter_fn=lambda _, path: path != "output")
mesh = dist.init_device_mesh("cuda", (RANKS,))
policy = MixedPrecisionPolicy(param_dtype=torch.bfloat16, reduce_dtype=torch.float32)
for i, block in enumerate(model.layers):
    if checkpointing != "none":
        block = checkpoint_wrapper(block, preserve_rng_state=False, **(dict(context_fn=contexts) if checkpointing == "selective" else {}))
    model.layers[i] = fully_shard(torch.compile(block, fullgraph=True), mesh=mesh, mp_policy=policy)
fully_shard(model, mesh=mesh, mp_policy=policy).to_empty(device="cuda")
optimizer = torch.optim.AdamW(model.parameters(), foreach=True)
loss_function = torch.compile(cross_entropy) if loss_kind == "compiled" else cross_entropy
for step in range(3):
    torch.cuda.reset_peak_memory_stats()
    torch.cuda.memory._record_memory_history(enabled=None)
    torch.cuda.memory._record_memory_history(context=None, max_entries=1 << 20)
    optimizer.zero_grad()
    tokens, targets = torch.zeros(B, S, dtype=torch.int64).cuda(), torch.zeros(B, S, dtype=torch.int64).cuda()
    loss_function(model(tokens).flatten(0, 1), targets).backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
requests = collections.Counter(e["size"] for e in torch.cuda.memory._snapshot()["device_traces"][0] if e["action"] == "alloc")
print("bytes,requests")
print(f"moved,{moved}")
print(f"peak,{torch.cuda.memory_stats()['requested_bytes.all.peak']}")
for size, number in sorted(requests.items()):
    print(f"{size},{number}")
