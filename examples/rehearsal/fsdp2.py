"""Trains a small transformer under FSDP2 on random tokens: a script that needs PyTorch alone."""

import os

import torch
from torch import nn
from torch.distributed.fsdp import fully_shard

WIDTH, LAYERS, VOCABULARY, SEQUENCE, BATCH = 1024, 8, 32000, 1024, 4

torch.distributed.init_process_group("nccl")
torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(VOCABULARY, WIDTH)
        self.blocks = nn.ModuleList(
            nn.TransformerEncoderLayer(WIDTH, 16, 4 * WIDTH, batch_first=True, norm_first=True) for _ in range(LAYERS)
        )
        self.head = nn.Linear(WIDTH, VOCABULARY)

    def forward(self, tokens):
        hidden = self.embedding(tokens)
        for block in self.blocks:
            hidden = block(hidden)
        return self.head(hidden)


model = Model().cuda()
for block in model.blocks:
    fully_shard(block)
fully_shard(model)
optimizer = torch.optim.AdamW(model.parameters(), lr=3e-4)
for step in range(10):
    tokens = torch.randint(VOCABULARY, (BATCH, SEQUENCE + 1)).cuda()
    logits = model(tokens[:, :-1])
    loss = nn.functional.cross_entropy(logits.flatten(0, 1), tokens[:, 1:].flatten())
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    print(f"step {step + 1}: loss {loss.item():.3f}")
torch.distributed.destroy_process_group()
