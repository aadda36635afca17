"""A plain Llama on PyTorch's own modules, built as torchtitan builds it: embedding, blocks, norm
and head stand in the root, and the feed-forward's weights come in the order gate, down, up. Modules
have Hugging Face's names without the leading `model.`, so that a plan's globs match them."""
import torch
import torch.nn as nn
import torch.nn.functional as F


def turn_of(cache, x):
    """The part of the cache that rotates queries and keys of x, in the form in which they take it."""
    if cache.is_complex():
        return cache[None, : x.shape[1], None]
    return [table[None, : x.shape[1], None].to(x.dtype) for table in cache]


def rotated_complex(x, turn):
    turned = torch.view_as_complex(x.float().unflatten(-1, (-1, 2))) * turn
    return torch.view_as_real(turned).flatten(3).type_as(x)


def rotated_half(x, turn):
    cosines, sines = turn
    half = x.shape[-1] // 2
    return x * cosines + torch.cat((-x[..., half:], x[..., :half]), dim=-1) * sines


def rope_cache(sequence, head_dim, theta, rope):
    frequencies = theta ** (-torch.arange(0, head_dim, 2).float() / head_dim)
    angles = torch.outer(torch.arange(sequence).float(), frequencies)
    if rope == "complex":
        return torch.polar(torch.ones_like(angles), angles)
    both = torch.cat((angles, angles), dim=-1)
    return torch.stack((both.cos(), both.sin())).to(torch.get_default_dtype())


def repeated(x, times):
    """Each head of keys or values once for every query head that shares it."""
    shape = (*x.shape[:3], times, x.shape[-1])
    return x[:, :, :, None].expand(shape).flatten(2, 3)


class Attention(nn.Module):
    def __init__(self, config, repeats_kv):
        super().__init__()
        hidden, self.head_dim = config["hidden_size"], config["head_dim"]
        heads, kv_heads = config["num_attention_heads"], config["num_key_value_heads"]
        self.groups = heads // kv_heads
        self.repeats_kv = repeats_kv
        bias = config.get("attention_bias", False)
        self.q_proj = nn.Linear(hidden, heads * self.head_dim, bias=bias)
        self.k_proj = nn.Linear(hidden, kv_heads * self.head_dim, bias=bias)
        self.v_proj = nn.Linear(hidden, kv_heads * self.head_dim, bias=bias)
        self.o_proj = nn.Linear(heads * self.head_dim, hidden, bias=bias)

    def forward(self, x, cache):
        rotated = rotated_complex if cache.is_complex() else rotated_half
        q, k, v = self.q_proj(x), self.k_proj(x), self.v_proj(x)
        q, k, v = (y.unflatten(-1, (-1, self.head_dim)) for y in (q, k, v))
        turn = turn_of(cache, x)
        q, k = rotated(q, turn), rotated(k, turn)
        if self.repeats_kv and self.groups > 1:
            k = repeated(k, self.groups)
            v = repeated(v, self.groups)
        q, k, v = q.transpose(1, 2), k.transpose(1, 2), v.transpose(1, 2)
        shares_kv = self.groups > 1 and not self.repeats_kv
        out = F.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=shares_kv)
        return self.o_proj(out.transpose(1, 2).contiguous().flatten(2))


class FeedForward(nn.Module):
    def __init__(self, config):
        super().__init__()
        hidden, inner = config["hidden_size"], config["intermediate_size"]
        bias = config.get("mlp_bias", False)
        self.gate_proj = nn.Linear(hidden, inner, bias=bias)
        self.down_proj = nn.Linear(inner, hidden, bias=bias)
        self.up_proj = nn.Linear(hidden, inner, bias=bias)

    def forward(self, x):
        return self.down_proj(F.silu(self.gate_proj(x)) * self.up_proj(x))


class DecoderLayer(nn.Module):
    def __init__(self, config, repeats_kv):
        super().__init__()
        hidden, eps = config["hidden_size"], config["rms_norm_eps"]
        self.self_attn = Attention(config, repeats_kv)
        self.mlp = FeedForward(config)
        self.input_layernorm = nn.RMSNorm(hidden, eps=eps)
        self.post_attention_layernorm = nn.RMSNorm(hidden, eps=eps)

    def forward(self, x, cache):
        x = x + self.self_attn(self.input_layernorm(x), cache)
        return x + self.mlp(self.post_attention_layernorm(x))


class Llama(nn.Module):
    """`config` is a config.json's content with head_dim and num_key_value_heads filled in."""

    def __init__(self, config, sequence, rope="complex", repeats_kv=False):
        super().__init__()
        hidden, vocabulary = config["hidden_size"], config["vocab_size"]
        self.embed_tokens = nn.Embedding(vocabulary, hidden)
        layers = [DecoderLayer(config, repeats_kv) for _ in range(config["num_hidden_layers"])]
        self.layers = nn.ModuleList(layers)
        self.norm = nn.RMSNorm(hidden, eps=config["rms_norm_eps"])
        self.lm_head = nn.Linear(hidden, vocabulary, bias=False)
        if config["tie_word_embeddings"]:
            self.lm_head.weight = self.embed_tokens.weight
        cache = rope_cache(sequence, config["head_dim"], config.get("rope_theta", 1e4), rope)
        self.register_buffer("rope", cache, persistent=False)

    def forward(self, tokens):
        x = self.embed_tokens(tokens)
        for layer in self.layers:
            x = layer(x, self.rope)
        return self.lm_head(self.norm(x))
