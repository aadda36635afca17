#!/usr/bin/env python3
"""Writes data/named_parameters.json: small configs of each family of models, and the parameters that
transformers builds from them, in the order of named_parameters(). Needs torch and transformers."""
import json
import pathlib
import random

import torch
from transformers import AutoConfig, AutoModelForCausalLM

CASES_PER_FAMILY = 4


def small_config(family, draw):
    kv_heads = draw.randint(1, 3)
    heads = kv_heads * draw.randint(1, 3)
    head_dim = 2 * draw.randint(2, 8)
    config = dict(
        model_type=family,
        hidden_size=heads * head_dim,
        intermediate_size=draw.randint(20, 90),
        num_hidden_layers=2,
        num_attention_heads=heads,
        num_key_value_heads=kv_heads,
        vocab_size=draw.randint(100, 300),
        tie_word_embeddings=draw.random() < 0.5,
    )
    if draw.random() < 0.5:
        config["head_dim"] = 2 * head_dim
    for key in ("attention_bias", "mlp_bias"):
        if draw.random() < 0.5:
            config[key] = True
    return config


def case(config):
    settings = {key: value for key, value in config.items() if key != "model_type"}
    with torch.device("meta"):
        model = AutoModelForCausalLM.from_config(AutoConfig.for_model(config["model_type"], **settings))
    parameters = [[name, list(p.shape)] for name, p in model.named_parameters()]
    return dict(config=config, parameters=parameters)


def main():
    draw = random.Random(1)
    cases = [
        case(small_config(family, draw))
        for family in ("llama", "mistral", "qwen2", "qwen3")
        for _ in range(CASES_PER_FAMILY)
    ]
    lines = ",\n".join(json.dumps(one) for one in cases)
    path = pathlib.Path(__file__).resolve().parent / "data/named_parameters.json"
    path.write_text("[\n" + lines + "\n]\n")


main()
