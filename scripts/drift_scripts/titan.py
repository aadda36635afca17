"""Runs torchtitan's trainer with its own arguments, as `torchrun -m torchtitan.train` does, after writing the
tokenizer and the text that jobs name: nothing is downloaded.

    titan.py --job.config_file CONFIG.toml"""

import base64
import json
import pathlib
import runpy

TEXT = "the step gathers each shard before a block runs and frees it afterwards " * 400
TOKENS = 128_000  # with torchtitan's 256 special ones as many as Llama 3 has


def write_assets(folder):
    """A tokenizer whose tokens are words, as tokenizers reads it, and one of bytes, as tiktoken does."""
    folder.mkdir(parents=True, exist_ok=True)
    words = {word: number for number, word in enumerate(["<unk>", "<s>", "</s>", *sorted(set(TEXT.split()))])}
    special = [
        {"id": number, "content": word, "special": True, "single_word": False, "lstrip": False,
         "rstrip": False, "normalized": False}
        for word, number in list(words.items())[:3]
    ]
    tokenizer = {
        "version": "1.0", "added_tokens": special, "pre_tokenizer": {"type": "Whitespace"},
        "model": {"type": "WordLevel", "vocab": words, "unk_token": "<unk>"},
    }
    (folder / "tokenizer.json").write_text(json.dumps(tokenizer))
    names = {"bos_token": "<s>", "eos_token": "</s>", "unk_token": "<unk>"}
    (folder / "tokenizer_config.json").write_text(json.dumps(names))
    pieces = [bytes([i]) for i in range(256)] + [bytes([i >> 8 & 255, i & 255]) for i in range(65536)]
    pieces += [bytes([1, i >> 8 & 255, i & 255]) for i in range(TOKENS - len(pieces))]
    lines = (f"{base64.b64encode(piece).decode()} {rank}\n" for rank, piece in enumerate(pieces))
    (folder / "tokenizer.model").write_text("".join(lines))


def main():
    write_assets(pathlib.Path("tests/assets/tokenizer"))
    data = pathlib.Path("tests/assets/c4_test")
    data.mkdir(exist_ok=True)
    (data / "data.jsonl").write_text((json.dumps({"text": TEXT}) + "\n") * 100)
    runpy.run_module("torchtitan.train", run_name="__main__")


main()
