"""What PyTorch's distributed checkpoints, transformers and torchtitan do with ours, and ours with theirs.

torch_checkpoints.py write NAMES DIR CONFIG W.safetensors STEPS   trains by FSDP2 on two processes, from those weights on
                                                      tokens 0, 1, 2, ..., and saves as torchtitan or transformers' users do
torch_checkpoints.py read NAMES DIR CONFIG W.safetensors   prints the step that PyTorch goes on from, and by how much weights
                                                      differ from those
"""
import json, os, sys, warnings

warnings.filterwarnings("ignore")
import torch
import torch.distributed as dist
import torch.distributed.checkpoint as dcp
from torch.distributed.checkpoint.state_dict import get_model_state_dict, get_state_dict, set_state_dict
from safetensors.torch import load_file

OPTIONS = dict(lr=1e-3, betas=(0.9, 0.95), eps=1e-8, weight_decay=0.1)


def config_of(path):
    with open(path) as f:
        return json.load(f)


class Transformers:
    """transformers' Llama, saved as {"model": ..., "optimizer": ...}."""

    def __init__(self, path):
        import transformers

        transformers.logging.set_verbosity_error()
        config = transformers.LlamaConfig(**{k: v for k, v in config_of(path).items() if k != "_name_or_path"})
        self.model = transformers.LlamaForCausalLM(config)
        self.blocks = self.model.model.layers

    def load(self, weights):
        self.model.load_state_dict(weights)

    def logits(self, tokens):
        return self.model(tokens).logits

    def weights(self):
        return {k: v for k, v in self.model.state_dict().items()}

    def state(self, optimizer, _):
        model, states = get_state_dict(self.model, optimizer)
        return {"model": model, "optimizer": states}

    def restore(self, path, optimizer):
        state = self.state(optimizer, 0)
        dcp.load(state, checkpoint_id=path)
        set_state_dict(self.model, optimizer, model_state_dict=state["model"], optim_state_dict=state["optimizer"])
        return int(next(iter(optimizer.state.values()))["step"])


class Torchtitan:
    """torchtitan's Llama 3 with its own optimizer, scheduler and wrappers of a checkpoint."""

    def __init__(self, path):
        from torchtitan.models.llama3.model.args import RoPEScalingArgs, TransformerModelArgs
        from torchtitan.models.llama3.model.model import Transformer
        from torchtitan.models.llama3.model.state_dict_adapter import Llama3StateDictAdapter

        c = config_of(path)
        heads, kv = c["num_attention_heads"], c["num_key_value_heads"]
        args = TransformerModelArgs(dim=c["hidden_size"], n_layers=c["num_hidden_layers"], n_heads=heads, n_kv_heads=kv,
                                    vocab_size=c["vocab_size"], max_seq_len=64, norm_eps=c["rms_norm_eps"], rope_theta=10000.0,
                                    rope_scaling_args=RoPEScalingArgs(scaling_factor=1.0))
        self.model = Transformer(args)
        with torch.no_grad():
            self.model.init_weights()
            for block in self.model.layers.values():      # any width of the feed-forward layers
                ff = block.feed_forward
                for name, (i, o) in dict(w1=(args.dim, c["intermediate_size"]), w2=(c["intermediate_size"], args.dim),
                                         w3=(args.dim, c["intermediate_size"])).items():
                    setattr(ff, name, torch.nn.Linear(i, o, bias=False))
        self.blocks = list(self.model.layers.values())
        self.adapter = Llama3StateDictAdapter(args, None)

    def load(self, weights):
        self.model.load_state_dict(self.adapter.from_hf(weights), strict=False)

    def logits(self, tokens):
        return self.model(tokens)

    def weights(self):
        return self.adapter.to_hf(get_model_state_dict(self.model))

    def state(self, optimizer, step):
        from torchtitan.components.checkpoint import ModelWrapper
        from torchtitan.components.lr_scheduler import build_lr_schedulers
        from torchtitan.config.job_config import LRScheduler

        class TrainState:
            def __init__(self, step): self.step = step
            def state_dict(self): return {"step": self.step, "ntokens_seen": 0}
            def load_state_dict(self, state): self.step = state["step"]

        self.train_state = TrainState(step)
        scheduler = build_lr_schedulers(optimizer, LRScheduler(warmup_steps=1), 10)
        return {"optimizer": optimizer, "lr_scheduler": scheduler, "train_state": self.train_state,
                **ModelWrapper(self.model).state_dict()}

    def optimizer(self):
        from torchtitan.components.optimizer import OptimizersContainer

        return OptimizersContainer([self.model], torch.optim.AdamW, dict(OPTIONS, fused=True, foreach=False))

    def restore(self, path, optimizer):
        from torchtitan.components.checkpoint import ModelWrapper

        state = self.state(optimizer, 0)
        dcp.load(state, checkpoint_id=path)
        ModelWrapper(self.model).load_state_dict(state)
        steps = {int(s["step"]) for s in optimizer.optimizers[0].state.values()}
        assert steps == {self.train_state.step} == {state["lr_scheduler"].schedulers[0].last_epoch}, (steps, self.train_state.step)
        return self.train_state.step


def optimizer_of(subject):
    return subject.optimizer() if hasattr(subject, "optimizer") else torch.optim.AdamW(subject.model.parameters(), **OPTIONS)


def run(rank, names, path, config, weights, steps):
    os.environ.update(RANK=str(rank), WORLD_SIZE="2", MASTER_ADDR="127.0.0.1", MASTER_PORT=os.environ["FORESHARD_PORT"])
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    from torch.distributed.fsdp import fully_shard

    subject = {"transformers": Transformers, "torchtitan": Torchtitan}[names](config)
    subject.load(load_file(weights))
    mesh = dist.device_mesh.init_device_mesh("cpu", (2,))
    for block in subject.blocks:
        fully_shard(block, mesh=mesh)
    fully_shard(subject.model, mesh=mesh)
    optimizer = optimizer_of(subject)
    tokens = torch.arange(17) + 16 * rank
    for _ in range(steps):
        optimizer.zero_grad()
        logits = subject.logits(tokens[None, :-1])
        torch.nn.functional.cross_entropy(logits.flatten(0, 1).float(), tokens[1:]).backward()
        optimizer.step()
    dcp.save(subject.state(optimizer, steps), checkpoint_id=path)
    dist.destroy_process_group()


def main():
    what, names, path, config, weights, *rest = sys.argv[1:]
    if what == "write":
        torch.multiprocessing.spawn(run, (names, path, config, weights, int(rest[0])), nprocs=2)
        return
    subject = {"transformers": Transformers, "torchtitan": Torchtitan}[names](config)
    step = subject.restore(path, optimizer_of(subject))
    have, want = subject.weights(), load_file(weights)
    missing = sorted(set(want) ^ set(have))
    print(json.dumps({"step": step, "missing": missing, "worst": max(float((have[n] - w).abs().max()) for n, w in want.items() if n in have)}))


if __name__ == "__main__":
    main()
