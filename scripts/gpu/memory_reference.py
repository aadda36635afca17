"""Loads make_memory_reference.py, which builds the models and steps of the cases that the other scripts here run."""
import importlib
import os
import sys


def load(folder, null):
    """The module in `folder`. It reads from the command line whether a GPU is there, and forks after this: what takes
    long to import is imported before, once. With `null` nothing is computed: PyTorch runs on a null device."""
    sys.argv = sys.argv[:1] + ([] if null else ["--real"])
    os.environ.update(OMP_NUM_THREADS="1", TOKENIZERS_PARALLELISM="false", HF_HUB_OFFLINE="1")
    sys.path.insert(0, os.path.abspath(folder))
    reference = importlib.import_module("make_memory_reference")
    for module in ("torch.distributed.fsdp", "transformers.models.llama.modeling_llama"):
        importlib.import_module(module)
    return reference


def add_arguments(parser):
    """What every script that loads it is given."""
    parser.add_argument("reference", help="folder of make_memory_reference.py, with its cases, configs and llama.py")
    parser.add_argument("out", help="folder for what is written")
    parser.add_argument("--seconds", type=float, default=600, help="start no case later than this")
    parser.add_argument("--only", default="", help="regular expression on the id of a case")
    parser.add_argument("--null", action="store_true", help="PyTorch runs on a null device that computes nothing")
