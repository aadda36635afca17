"""Trains a model with transformers' Trainer on Accelerate, under DDP, FSDP1 or FSDP2: three steps on tokens
that are all alike, whose arguments say what differs from job to job. Nothing in it is about rehearsals."""

import argparse
import gc
import json
import pathlib
import tempfile

import torch
from transformers import AutoConfig, AutoModelForCausalLM, Trainer, TrainerCallback, TrainingArguments


def arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    add = parser.add_argument
    add("--config", required=True, help="a model's config.json")
    add("--api", default="fsdp2", choices=("fsdp2", "fsdp1", "ddp"))
    add("--ac", default="none", choices=("none", "hf"))
    add("--accum", type=int, default=1)
    add("--batch", type=int, default=1)
    add("--seq", type=int, default=512)
    add("--mask", default="none", choices=("none", "ones", "padded"))
    add("--find_unused", type=int, default=0)
    add("--eval_every", type=int, default=0)
    add("--eval_batches", type=int, default=1)
    return parser.parse_args()


def new_model(path):
    config = json.loads(pathlib.Path(path).read_text())
    kind = config.pop("model_type")
    for name in ("architectures", "dtype"):
        config.pop(name, None)
    known = AutoConfig.for_model(kind, **config)
    with torch.device("meta"):
        model = AutoModelForCausalLM.from_config(
            known, dtype=torch.float32, attn_implementation="sdpa"
        )
    model.to_empty(device="cpu")
    model.tie_weights()
    return model


def fsdp_arguments(args, model):
    if args.api == "ddp":
        return {"ddp_find_unused_parameters": bool(args.find_unused)}
    config = {
        "transformer_layer_cls_to_wrap": [type(model.model.layers[0]).__name__],
        "cpu_ram_efficient_loading": False,
    }
    if args.api == "fsdp2":
        config.update(version=2, reshard_after_forward=True)
    else:
        config.update(
            version=1,
            use_orig_params=True,
            backward_prefetch="backward_pre",
            limit_all_gathers=True,
            sync_module_states=False,
        )
    return {"fsdp": "full_shard auto_wrap", "fsdp_config": config}


class Peaks(TrainerCallback):
    """Reports what an evaluation reaches, and begins each step's peaks anew."""

    def on_step_begin(self, *_, **__):
        torch.cuda.reset_peak_memory_stats()

    def on_evaluate(self, *_, **__):
        memory = torch.cuda.memory_stats()
        peaks = [memory[f"{kind}_bytes.all.peak"] for kind in ("active", "allocated", "reserved")]
        print("evaluation reached", *peaks)


def main():
    args = arguments()
    gc.collect()
    gc.disable()  # collections at other moments on other ranks make all of them wait
    torch.backends.cuda.enable_cudnn_sdp(False)
    model = new_model(args.config)
    settings = TrainingArguments(
        tempfile.mkdtemp(),
        per_device_train_batch_size=args.batch,
        per_device_eval_batch_size=args.batch,
        gradient_accumulation_steps=args.accum,
        gradient_checkpointing=args.ac == "hf",
        gradient_checkpointing_kwargs={"use_reentrant": False},
        max_steps=100,
        bf16=True,
        optim="adamw_torch_fused",
        logging_steps=1,
        report_to="none",
        save_strategy="no",
        disable_tqdm=True,
        eval_strategy="steps" if args.eval_every else "no",
        eval_steps=args.eval_every or None,
        prediction_loss_only=True,
        **fsdp_arguments(args, model),
    )
    tokens = [1] * args.seq
    row = {"input_ids": tokens, "labels": tokens}
    if args.mask == "ones":
        row["attention_mask"] = tokens
    elif args.mask == "padded":
        row["attention_mask"] = [0] * (args.seq // 4) + tokens[args.seq // 4 :]
    rows = args.batch * settings.world_size
    Trainer(
        model=model,
        args=settings,
        train_dataset=[row] * (100 * rows * args.accum),
        eval_dataset=[row] * (rows * args.eval_batches),
        callbacks=[Peaks()],
    ).train()


main()
