"""--data synthetic: datasets and tokenizers that need no network. Every example is longer than most sequences, so
that batches are as full as they can be; a tokenizer that is not at hand makes each byte a token."""

import functools
import os

from foreshard_hooks import imports
from foreshard_rehearsal import record, settings

ROWS = 256 + 64 * settings.RANKS  # of which each rank has its share
_TEXT = "Every rank gathers the shards of a block before the block runs. " * 128  # 8,192 bytes
_MESSAGES = [{"role": "user", "content": _TEXT[:256]}, {"role": "assistant", "content": _TEXT}]
_VALUES = {"messages": _MESSAGES, "prompt": _TEXT[:256], "label": 0, "labels": 0}  # _TEXT in all other columns
_SPECIAL = ["<pad>", "<s>", "</s>", "<unk>"]
_USUAL_VOCABULARY = 32_000
_FILES = ("tokenizer.json", "tokenizer.model", "vocab.json", "vocab.txt", "spiece.model", "tekken.json")
_CHAT = "{% for m in messages %}{{ m['role'] }}: {{ m['content'] }}</s>{% endfor %}"


def install():
    if settings.DATA_IS_SYNTHETIC:
        imports.after("datasets", _change_datasets)
        imports.after("transformers.tokenization_utils_base", _change_tokenizers)
        imports.after("transformers.models.auto.tokenization_auto", _change_auto_tokenizer)


def _change_datasets(module):
    def dataset(streaming):
        columns = {name: [_VALUES.get(name, _TEXT)] * ROWS for name in settings.COLUMNS}
        whole = module.Dataset.from_dict(columns)
        return whole.to_iterable_dataset() if streaming else whole

    def load_dataset(path, name=None, *, split=None, streaming=False, **_more):
        record.note(f"load_dataset: {path} is {ROWS:,} synthetic examples of {', '.join(settings.COLUMNS)}")
        if isinstance(split, (list, tuple)):
            return [dataset(streaming) for _ in split]
        if split is not None:
            return dataset(streaming)
        kind = module.IterableDatasetDict if streaming else module.DatasetDict
        return kind({part: dataset(streaming) for part in ("train", "validation", "test")})

    imports.replace(module, "load_dataset", lambda _: load_dataset)


def _change_tokenizers(module):
    _change(module.PreTrainedTokenizerBase)


def _change_auto_tokenizer(module):
    _change(module.AutoTokenizer)


def _change(kind):
    original = kind.from_pretrained.__func__

    @functools.wraps(original)
    def from_pretrained(cls, name, *arguments, **named):
        if any(_is_here(name, file) for file in _FILES):
            return original(cls, name, *arguments, **named)
        record.note(f"from_pretrained: {name} has no tokenizer here; each byte was a token")
        return _of_bytes(_vocabulary(name))

    kind.from_pretrained = classmethod(from_pretrained)


def _is_here(name, file):
    if os.path.isdir(name):
        return os.path.isfile(os.path.join(name, file))
    import huggingface_hub

    return isinstance(huggingface_hub.try_to_load_from_cache(str(name), file), str)


def _vocabulary(name):
    """As many tokens as the model has, where its configuration is at hand."""
    import transformers

    try:
        config = transformers.AutoConfig.from_pretrained(name, local_files_only=True)
    except (OSError, ValueError):
        return _USUAL_VOCABULARY
    return getattr(config.get_text_config(), "vocab_size", _USUAL_VOCABULARY)


def _of_bytes(size):
    import tokenizers
    import transformers

    words = _SPECIAL + sorted(tokenizers.pre_tokenizers.ByteLevel.alphabet())
    words += [f"<{number}>" for number in range(len(words), size)]
    vocabulary = {word: number for number, word in enumerate(words)}
    made = tokenizers.Tokenizer(tokenizers.models.BPE(vocab=vocabulary, merges=[], unk_token="<unk>"))
    made.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = tokenizers.decoders.ByteLevel()
    pad, begin, end, unknown = _SPECIAL
    tokenizer = transformers.PreTrainedTokenizerFast(
        tokenizer_object=made, pad_token=pad, bos_token=begin, eos_token=end, unk_token=unknown
    )
    tokenizer.chat_template = _CHAT
    return tokenizer
