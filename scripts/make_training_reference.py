#!/usr/bin/env python3
"""What PyTorch computes in double precision when it trains small models: losses and gradient norms that
tests/cli/parity_test.cpp compares `foreshard train` with.

    scripts/make_training_reference.py FORESHARD OUTPUT.json

FORESHARD is the built program: it draws the initial weights from a seed and exports them. Models are
transformers' own, by the configurations below; batches, loss, clipping and AdamW are torch's, on one process
that sees all samples of a step. Needs torch, transformers and safetensors (made with 2.11.0 and 5.5.4)."""
import json
import pathlib
import subprocess
import tempfile
import types

import torch
import transformers
from safetensors.torch import load_file

from prediction import parser_of

STEPS, SEED, SAMPLES, SEQUENCE = 10, 7, 4, 32
OPTIMIZER = {"lr": 0.003, "beta1": 0.9, "beta2": 0.95, "eps": 1e-8, "weight_decay": 0.1, "clip_grad_norm": 0.7}
COMMON = {
    "hidden_size": 48, "intermediate_size": 80, "num_hidden_layers": 3, "num_attention_heads": 6,
    "num_key_value_heads": 2, "vocab_size": 256, "rms_norm_eps": 1e-5, "max_position_embeddings": 128,
    "rope_theta": 10000.0, "initializer_range": 0.12, "tie_word_embeddings": False,
}
CASES = {
    "llama": {"architectures": ["LlamaForCausalLM"], "model_type": "llama"},
    "llama, tied, long positions, wide heads": {
        "architectures": ["LlamaForCausalLM"], "model_type": "llama", "tie_word_embeddings": True, "head_dim": 12,
        "num_key_value_heads": 1, "rope_scaling": {
            "rope_type": "llama3", "factor": 4.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
            "original_max_position_embeddings": 16}},
    "qwen2, biases": {"architectures": ["Qwen2ForCausalLM"], "model_type": "qwen2"},
    "mistral, window": {"architectures": ["MistralForCausalLM"], "model_type": "mistral", "sliding_window": 9},
}
TEXT = pathlib.Path(__file__).resolve().parent.parent / "executor/data/text/prose.txt"


def drawn_weights(program, model, folder):
    """Those of the first step, which a learning rate that changes no bit leaves as they were."""
    plan = folder / "plan.toml"
    plan.write_text(f"[batch]\nmicro_batch = 1\nsequence = {SEQUENCE}\n[precision]\nparam = \"fp32\"\n"
                    "[optimizer]\nlr = 1e-30\nweight_decay = 0.0\n")
    weights = folder / "weights.safetensors"
    subprocess.run([program, "train", "--model", model, "--plan", plan, "--ranks", "1", "--steps", "1", "--seed",
                    str(SEED), "--export-weights", weights, "--quiet"], check=True, stdout=subprocess.DEVNULL)
    return load_file(weights)


def in_double(self, x):
    """RMSNorm without transformers' detour through fp32."""
    return self.weight * x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.variance_epsilon)


def curve(given.program, config):
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        (folder / "config.json").write_text(json.dumps(config))
        weights = drawn_weights(program, folder, folder)
        model = transformers.AutoModelForCausalLM.from_config(
            transformers.AutoConfig.from_pretrained(folder), attn_implementation="eager").double()
    missing, unexpected = model.load_state_dict({k: v.double() for k, v in weights.items()}, strict=False)
    if unexpected or set(missing) - {"lm_head.weight"}:
        raise SystemExit(f"weights: {missing} missing, {unexpected} unexpected")
    model.tie_weights()
    for module in model.modules():
        if type(module).__name__.endswith("RMSNorm"):
            module.forward = types.MethodType(in_double, module)
    optimizer = torch.optim.AdamW(model.parameters(), lr=OPTIMIZER["lr"], eps=OPTIMIZER["eps"],
                                  betas=(OPTIMIZER["beta1"], OPTIMIZER["beta2"]),
                                  weight_decay=OPTIMIZER["weight_decay"])
    text = torch.tensor(list(TEXT.read_bytes()))
    steps = []
    for step in range(STEPS):
        starts = [(step * SAMPLES + i) * SEQUENCE for i in range(SAMPLES)]
        inputs = torch.stack([text[s:s + SEQUENCE] for s in starts])
        targets = torch.stack([text[s + 1:s + SEQUENCE + 1] for s in starts])
        logits = model(inputs, use_cache=False).logits
        loss = torch.nn.functional.cross_entropy(logits.flatten(0, 1), targets.flatten())
        optimizer.zero_grad()
        loss.backward()
        norm = torch.nn.utils.clip_grad_norm_(model.parameters(), OPTIMIZER["clip_grad_norm"])
        optimizer.step()
        steps.append({"loss": loss.item(), "grad_norm": norm.item()})
    return steps


def main():
    parser = parser_of(__doc__)
    parser.add_argument("program", metavar="FORESHARD")
    parser.add_argument("output", metavar="OUTPUT.json")
    given = parser.parse_args()
    torch.manual_seed(0)
    cases = [{"name": name, "config": COMMON | more, "steps": curve(program, COMMON | more)}
             for name, more in CASES.items()]
    answer = {"torch": torch.__version__, "transformers": transformers.__version__, "seed": SEED,
              "samples": SAMPLES, "sequence": SEQUENCE, "optimizer": OPTIMIZER, "cases": cases}
    pathlib.Path(given.output).write_text(json.dumps(answer, indent=1) + "\n")


main()
