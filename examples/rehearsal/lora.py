"""Fine-tunes a Llama of 8 billion parameters with LoRA and TRL's SFTTrainer. The model has the shape of Llama 3.1
8B and no trained weights, the data are random tokens: nothing is downloaded."""

import random

import torch
from datasets import Dataset
from peft import LoraConfig
from tokenizers import Tokenizer, models
from transformers import AutoModelForCausalLM, LlamaConfig, PreTrainedTokenizerFast
from trl import SFTConfig, SFTTrainer

config = LlamaConfig(
    vocab_size=128256,
    hidden_size=4096,
    intermediate_size=14336,
    num_hidden_layers=32,
    num_attention_heads=32,
    num_key_value_heads=8,
)
words = Tokenizer(models.WordLevel({"<pad>": 0, "<eos>": 1}, unk_token="<pad>"))
tokenizer = PreTrainedTokenizerFast(tokenizer_object=words, pad_token="<pad>", eos_token="<eos>")
draw = random.Random(0)
rows = [{"input_ids": draw.choices(range(2, 1000), k=2048)} for _ in range(256)]

SFTTrainer(
    model=AutoModelForCausalLM.from_config(config, dtype=torch.bfloat16),
    args=SFTConfig(
        output_dir="lora",
        per_device_train_batch_size=2,
        max_length=2048,
        max_steps=100,
        bf16=True,
        gradient_checkpointing=True,
        logging_steps=1,
        save_strategy="no",
        report_to="none",
        disable_tqdm=True,
    ),
    train_dataset=Dataset.from_list(rows),
    processing_class=tokenizer,
    peft_config=LoraConfig(r=16, lora_alpha=32, target_modules="all-linear", task_type="CAUSAL_LM"),
).train()
