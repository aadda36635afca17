"""A training job from its files: plan, model, and what PyTorch reads of it from the environment."""
import json
import os
import pathlib
import subprocess
import tomllib

from prediction import PROGRAM, fail

CONFIG_KEYS = {  # of config.json, by the names of `foreshard list models`
    "layers": "num_hidden_layers",
    "hidden_size": "hidden_size",
    "intermediate_size": "intermediate_size",
    "heads": "num_attention_heads",
    "kv_heads": "num_key_value_heads",
    "vocabulary": "vocab_size",
    "context": "max_position_embeddings",
}


def answer_of(*words):
    if not PROGRAM.exists():
        fail(f"{PROGRAM}: is missing; expected a build (scripts/test)")
    run = subprocess.run([PROGRAM, *words], capture_output=True, text=True)
    if run.returncode != 0:
        fail(run.stderr.strip())
    return run.stdout


def whole_plan(path):
    """The plan with every key written out, as text."""
    return answer_of("plan", "--from", path)


def plan_of(path):
    return tomllib.loads(whole_plan(path))


def has_one_table(model):
    """Whether embedding and head share their weight, by the number of parameters."""
    hidden = model["hidden_size"]
    attention = 2 * hidden * (hidden + hidden // model["heads"] * model["kv_heads"])
    block = attention + 3 * hidden * model["intermediate_size"] + 2 * hidden
    return model["parameters"] == model["layers"] * block + hidden + model["vocabulary"] * hidden


def bundled_llamas():
    models = json.loads(answer_of("list", "models", "--json", "-"))["models"]
    return {
        model["name"]: {theirs: model[ours] for ours, theirs in CONFIG_KEYS.items()}
        | {"model_type": "llama", "rms_norm_eps": 1e-5, "tie_word_embeddings": has_one_table(model)}
        for model in models
        if "llama" in model["name"]
    }


def model_config(model):
    """Of a config.json, a folder with one, or a Llama that the program bundles."""
    path = pathlib.Path(model)
    path = path / "config.json" if path.is_dir() else path
    config = json.loads(path.read_text()) if path.exists() else bundled_llamas().get(str(model))
    if config is None:
        fail(f"{model}: is missing; expected a model's config.json, or a Llama of `foreshard list models`")
    config.setdefault("num_key_value_heads", config["num_attention_heads"])
    config.setdefault("head_dim", config["hidden_size"] // config["num_attention_heads"])
    config.setdefault("tie_word_embeddings", False)
    return config


def set_environment(plan):
    """What PyTorch reads when it starts."""
    settings = [f"{key}:{value}" for key, value in plan["allocator"].items() if value and key != "memory_fraction"]
    if settings:
        os.environ["PYTORCH_CUDA_ALLOC_CONF"] = ",".join(settings)
    if plan["pytorch"]["cublas_workspace_config"]:
        os.environ["CUBLAS_WORKSPACE_CONFIG"] = plan["pytorch"]["cublas_workspace_config"]
