"""Fine-tunes a model with TRL's SFTTrainer under FSDP2, with LoRA or without, on texts that are longer than a
sequence; the model is new and the tokenizer is made here, so that nothing is downloaded."""

import argparse

from datasets import Dataset
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import AutoConfig, AutoModelForCausalLM, PreTrainedTokenizerFast
from trl import SFTConfig, SFTTrainer

WORDS = "the step gathers each shard before a block runs and frees it afterwards".split()


def arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    add = parser.add_argument
    add("--config", required=True, help="a model's config.json")
    add("--seq", type=int, default=2048)
    add("--lora", type=int, default=0, help="rank of the adapters")
    add("--packing", default="none", choices=("none", "wrapped", "bfd"))
    return parser.parse_args()


def new_tokenizer():
    special = {"unk_token": "<unk>", "pad_token": "<pad>", "eos_token": "</s>"}
    numbers = {word: number for number, word in enumerate([*special.values(), *WORDS])}
    tokenizer = Tokenizer(models.WordLevel(numbers, unk_token="<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, **special)


def adapters(rank):
    if rank == 0:
        return None
    from peft import LoraConfig

    return LoraConfig(r=rank, target_modules="all-linear", task_type="CAUSAL_LM")


def packing(strategy):
    return {} if strategy == "none" else {"packing": True, "packing_strategy": strategy}


def main():
    args = arguments()
    config = AutoConfig.from_pretrained(args.config)
    model = AutoModelForCausalLM.from_config(config, attn_implementation="sdpa")
    settings = SFTConfig(
        "sft",
        per_device_train_batch_size=1,
        max_length=args.seq,
        max_steps=100,
        bf16=True,
        optim="adamw_torch_fused",
        gradient_checkpointing=True,
        gradient_checkpointing_kwargs={"use_reentrant": False},
        logging_steps=1,
        report_to="none",
        save_strategy="no",
        fsdp="full_shard auto_wrap",
        fsdp_config={"version": 2, "cpu_ram_efficient_loading": False},
        **packing(args.packing),
    )
    SFTTrainer(
        model=model,
        args=settings,
        train_dataset=Dataset.from_dict({"text": [" ".join(WORDS * args.seq)] * 200}),
        processing_class=new_tokenizer(),
        peft_config=adapters(args.lora),
    ).train()


main()
