"""The training step that a plan describes, and what of a plan is not run here."""
import contextlib

import torch

from .checkpointing import apply_checkpointing
from .float8 import apply_float8
from .fsdp2 import apply_fsdp2
from .llama import Llama
from .losses import loss_function
from .modules import DTYPES, blocks_of
from .wrappers import apply_ddp, apply_fsdp1


def uses_transformers(plan):
    return plan["pytorch"].get("implementation") == "transformers"


def own_rms_norm():
    """What torch.nn.RMSNorm is in the PyTorch that runs."""
    return "fused" if tuple(map(int, torch.__version__.split(".")[:2])) >= (2, 9) else "composite"


def not_run(plan, config):
    """What of the plan is not run here, each as "section.key = value"."""
    allowed = {
        "offload.optimizer": [False],
        "offload.activations": [False],
        "allocator.memory_fraction": [1.0],
        "precision.optimizer_state": [plan["precision"]["storage"]],
        "pytorch.loop": ["plain"],
        "pytorch.rms_norm": ["auto", own_rms_norm()],
    }
    if uses_transformers(plan):
        allowed["pytorch.loss"] = ["whole"]
    if plan["runtime"] == "fsdp1":
        allowed["sharding.strategy"] = ["full_shard", "shard_grad_op", "no_shard", "hybrid_shard"]
        allowed["wrap.policy"] = ["none", "transformer", "size"]
    for name, values in allowed.items():
        section, key = name.split(".")
        if plan[section][key] not in values:
            yield f"{name} = {plan[section][key]!r}"
    if config["model_type"] != "llama" and not uses_transformers(plan):
        yield f"a model of type {config['model_type']!r} other than transformers'"
    if plan["prefetch"]["backward"] == "none":
        yield "prefetch.backward = 'none'"


def model_of(config, plan):
    """The model on the meta device, in the dtype of the sharded parameters."""
    settings = plan["pytorch"]
    previous = torch.get_default_dtype()
    torch.set_default_dtype(DTYPES[plan["precision"]["storage"]])
    with torch.device("meta"):
        if uses_transformers(plan):
            from transformers import AutoConfig, AutoModelForCausalLM
            known = AutoConfig.for_model(**config)
            known.dtype = DTYPES[plan["precision"]["storage"]]
            model = AutoModelForCausalLM.from_config(known, attn_implementation="sdpa")
        else:
            sequence = plan["batch"]["sequence"]
            model = Llama(config, sequence, settings["rope"], settings["repeat_kv"])
    torch.set_default_dtype(previous)
    return model


def choose_attention(backend):
    """The backend that scaled_dot_product_attention takes; those below it remain as a way out. PyTorch itself
    puts cuDNN's last on some GPUs."""
    cuda = torch.backends.cuda
    cuda.enable_cudnn_sdp(backend == "cudnn")
    cuda.enable_flash_sdp(backend == "flash")
    cuda.enable_mem_efficient_sdp(backend in ("flash", "efficient"))
    cuda.enable_math_sdp(backend != "cudnn")


def compiles(plan, what):
    return plan["operators"] == "pytorch-compile" and plan["pytorch"]["compile"].startswith(what)


class Training:
    """A model under a plan, and its steps."""

    def __init__(self, config, plan, world, is_fake):
        self.plan = plan
        self.vocabulary = config["vocab_size"]
        choose_attention(plan["pytorch"]["attention"])
        torch.use_deterministic_algorithms(plan["pytorch"]["deterministic"])
        model = model_of(config, plan)
        apply_float8(model, plan)
        apply_checkpointing(model, plan)
        if compiles(plan, "blocks"):
            blocks = blocks_of(model)
            for i, block in enumerate(blocks):
                blocks[i] = torch.compile(block, fullgraph=True)
        if plan["runtime"] == "fsdp2":
            self.model = apply_fsdp2(model, plan, world)
        elif plan["runtime"] == "fsdp1":
            self.model = apply_fsdp1(model, plan, world)
        else:
            self.model = apply_ddp(model, plan, is_fake)
        if compiles(plan, "model"):
            self.model.compile()
        self.loss = loss_function(plan)
        self.optimizer = self.make_optimizer(plan["optimizer"])

    def make_optimizer(self, settings):
        kinds = {"adamw": torch.optim.AdamW, "sgd": torch.optim.SGD}
        kernel = settings["kernel"]
        kernel = {"fused": True} if kernel == "fused" else {"foreach": kernel == "foreach"}
        return kinds[settings["name"]](self.model.parameters(), lr=settings["lr"], **kernel)

    def loss_of(self, tokens, targets):
        """The loss, and what the plan keeps until the end of backward: logits as the loss takes them. Others are
        freed here."""
        keeps = self.plan["pytorch"]["keep_logits"]
        if uses_transformers(self.plan):
            out = self.model(input_ids=tokens, labels=targets, use_cache=False)
            return out.loss, out.logits if keeps else None
        logits = self.model(tokens)
        if keeps:
            logits = logits.to(DTYPES[self.plan["pytorch"]["logits"]])
        return self.loss(logits, targets), logits if keeps else None

    def synchronisation(self, is_last):
        """What a micro-step runs in, so that gradients are reduced where the plan has it."""
        batch, sharding = self.plan["batch"], self.plan["sharding"]
        if self.plan["runtime"] == "fsdp2":
            if batch["gradient_sync"] == "last":
                self.model.set_requires_gradient_sync(is_last)
            if sharding["reshard_after_backward"] == "last":
                self.model.set_reshard_after_backward(is_last)
            if batch["all_reduce"] == "last":
                self.model.set_requires_all_reduce(is_last)
        elif batch["gradient_sync"] == "last" and not is_last:
            return self.model.no_sync()
        return contextlib.nullcontext()

    def tokens(self):
        shape = self.plan["batch"]["micro_batch"], self.plan["batch"]["sequence"]
        return torch.randint(self.vocabulary, shape).cuda()

    def step(self):
        count = self.plan["batch"]["accumulation"]
        self.optimizer.zero_grad(set_to_none=self.plan["pytorch"]["zero_grad"] == "none")
        for micro_step in range(count):
            tokens = self.tokens()
            targets = self.tokens()
            with self.synchronisation(micro_step == count - 1):
                if self.plan["prefetch"]["unshard_before_forward"]:
                    self.model.unshard()
                loss, kept = self.loss_of(tokens, targets)
                if count > 1:
                    loss = loss / count
                loss.backward()
            del loss, kept
        self.clip(self.plan["optimizer"]["clip_grad_norm"])
        self.optimizer.step()

    def clip(self, norm):
        if norm == 0:
            return
        if self.plan["runtime"] == "fsdp1":
            self.model.clip_grad_norm_(norm)
        else:
            torch.nn.utils.clip_grad_norm_(self.model.parameters(), norm)
