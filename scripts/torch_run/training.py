"""The training step that a plan describes, and what of a plan is not run here."""
import contextlib

import torch
import torch.nn.functional as F

from .checkpointing import apply_checkpointing
from .fsdp2 import apply_fsdp2
from .llama import Llama
from .modules import DTYPES
from .wrappers import apply_ddp, apply_fsdp1


def uses_transformers(plan):
    return plan["pytorch"].get("implementation") == "transformers"


def not_run(plan, config):
    """What of the plan is not run here, each as "section.key = value"."""
    allowed = {
        "offload.optimizer": [False],
        "offload.activations": [False],
        "precision.optimizer_state": [plan["precision"]["storage"]],
        "pytorch.loss": ["whole"],
        "pytorch.rms_norm": ["auto"],
        "pytorch.float8": ["none"],
    }
    if plan["runtime"] == "fsdp1":
        allowed["sharding.strategy"] = ["full_shard", "shard_grad_op", "no_shard"]
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
    """The backend that scaled_dot_product_attention takes; those below it remain as a way out."""
    cuda = torch.backends.cuda
    cuda.enable_cudnn_sdp(backend == "cudnn")
    cuda.enable_flash_sdp(backend == "flash")
    cuda.enable_mem_efficient_sdp(backend in ("flash", "efficient"))


def loss_of(model, tokens, targets, plan):
    """The loss, and what the plan keeps until the end of backward. Other logits are freed here."""
    settings = plan["pytorch"]
    if uses_transformers(plan):
        out = model(input_ids=tokens, labels=targets, use_cache=False)
        return out.loss, out.logits if settings["keep_logits"] else None
    logits = model(tokens)
    seen = logits.flatten(0, 1).to(DTYPES[settings["logits"]])
    return F.cross_entropy(seen, targets.flatten()), logits if settings["keep_logits"] else None


class Training:
    """A model under a plan, and its steps."""

    def __init__(self, config, plan, world, is_fake):
        self.plan = plan
        self.vocabulary = config["vocab_size"]
        choose_attention(plan["pytorch"]["attention"])
        torch.use_deterministic_algorithms(plan["pytorch"]["deterministic"])
        model = model_of(config, plan)
        apply_checkpointing(model, plan)
        if plan["runtime"] == "fsdp2":
            self.model = apply_fsdp2(model, plan, world)
        elif plan["runtime"] == "fsdp1":
            self.model = apply_fsdp1(model, plan)
        else:
            self.model = apply_ddp(model, plan, is_fake)
        self.optimizer = self.make_optimizer(plan["optimizer"])

    def make_optimizer(self, settings):
        kinds = {"adamw": torch.optim.AdamW, "sgd": torch.optim.SGD}
        kernel = settings["kernel"]
        kernel = {"fused": True} if kernel == "fused" else {"foreach": kernel == "foreach"}
        return kinds[settings["name"]](self.model.parameters(), lr=settings["lr"], **kernel)

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
                loss, kept = loss_of(self.model, tokens, targets, self.plan)
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
