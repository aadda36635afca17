"""The plain Llama in torchtitan's own order of operators: queries and keys are rotated together, keys and
values are repeated one after the other, and the last block's output is given up for its norm."""

import torch
import torch.nn.functional as F
from torch_run.llama import Attention, Llama, repeated


def rotated_together(queries, keys, cache):
    turn = cache[None, : queries.shape[1], None]
    pairs = [torch.view_as_complex(x.float().unflatten(-1, (-1, 2))) for x in (queries, keys)]
    turned = [torch.view_as_real(pair * turn).flatten(3) for pair in pairs]
    return [x.type_as(queries) for x in turned]


class TorchtitanAttention(Attention):
    def forward(self, x, cache):
        q, k, v = self.q_proj(x), self.k_proj(x), self.v_proj(x)
        q, k, v = (y.unflatten(-1, (-1, self.head_dim)) for y in (q, k, v))
        q, k = rotated_together(q, k, cache)
        if self.repeats_kv:
            k, v = self.all_repeated(k, v)
        q, k, v = q.transpose(1, 2), k.transpose(1, 2), v.transpose(1, 2)
        shares_kv = self.groups > 1 and not self.repeats_kv
        out = F.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=shares_kv)
        out = out.transpose(1, 2).contiguous()
        return self.o_proj(out.flatten(2))

    def all_repeated(self, k, v):
        if self.groups == 1:
            return k, v
        return repeated(k, self.groups), repeated(v, self.groups)


class TorchtitanLlama(Llama):
    def __init__(self, config, sequence, rope, repeats_kv):
        super().__init__(config, sequence, rope, repeats_kv)
        for layer in self.layers:
            layer.self_attn.__class__ = TorchtitanAttention

    def forward(self, tokens):
        x = self.embed_tokens(tokens)
        for layer in self.layers:
            x = layer(x, self.rope)
        x = self.norm(x)
        return self.lm_head(x)
