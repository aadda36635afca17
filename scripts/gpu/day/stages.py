"""The stages of a day and their steps, in the order of what they are worth: what breaks most comes first, what takes
long and finds little comes last. goals.py says what of their answers is good enough."""
import dataclasses
import pathlib
import sys

from runner import Step

HERE = "scripts/gpu/day"

BF16 = {"precision": {"param": "bf16", "reduce": "bf16"}}
MIXED = {"precision": {"param": "bf16", "reduce": "fp32"}}
# Embedding and head in units of their own, without which four ranks do not fit on one GPU of 80 GB.
LIKE_TORCHTITAN = {"policy": "modules",
                   "modules": ["model.embed_tokens", ["model.norm", "lm_head"], "model.layers.*"]}
FOUR_BLOCKS_OF_8B = {
    "model_type": "llama", "hidden_size": 4096, "intermediate_size": 14336, "num_hidden_layers": 4,
    "num_attention_heads": 32, "num_key_value_heads": 8, "vocab_size": 128256, "max_position_embeddings": 131072,
    "rms_norm_eps": 1e-5, "rope_theta": 500000.0, "tie_word_embeddings": False}


@dataclasses.dataclass(frozen=True)
class Run:
    """A training run: what it trains, and what of it differs from the plain one."""
    name: str
    model: str
    micro_batch: int = 1
    sequence: int = 1024
    ranks: int = 1
    steps: int = 3
    keys: dict = dataclasses.field(default_factory=lambda: MIXED)
    options: tuple = ()
    variables: dict = dataclasses.field(default_factory=dict)
    repetition: int = 0     # sets runs apart that are the same in all else


def with_keys(**sections):
    return {**MIXED, **sections}


WITHOUT_GRAPHS = ("--cuda-graphs", "off")
BIG = dict(model="llama-3.2-1b", micro_batch=2, sequence=2048, steps=12, keys=BF16)
SMALL = dict(model="llama-small-14m", sequence=512, steps=6)

SMOKE = [Run("fp32", "llama-tiny-3m", sequence=256, steps=5, keys={"precision": {"param": "fp32"}}),
         Run("bf16", "llama-tiny-3m", sequence=256, steps=5)]
SPEED = [Run("plain", **BIG),
         Run("without_graphs", **BIG, options=WITHOUT_GRAPHS),
         Run("graphs", **BIG, options=("--cuda-graphs", "on")),
         Run("tuned", **BIG, options=("--tune",)),
         Run("without_cudnn", **BIG, variables={"FORESHARD_CUDNN": "0"})]
# With fewer tokens the optimizer of its embedding and head is two fifths of the step.
LARGE = [Run("plain", "8b-4-blocks", micro_batch=4, sequence=4096, steps=8, keys=BF16),
         Run("without_graphs", "8b-4-blocks", micro_batch=4, sequence=4096, steps=8, keys=BF16, options=WITHOUT_GRAPHS)]
MEMORY = [Run(f"{model}-{ranks}", model, ranks=ranks)
          for model in ("llama-tiny-3m", "llama-small-14m", "llama-3.2-1b") for ranks in (1, 2, 4)]
MEMORY += [Run(f"8b-4-blocks-{ranks}", "8b-4-blocks", ranks=ranks, keys=with_keys(wrap=LIKE_TORCHTITAN))
           for ranks in (1, 2, 4)]
MEMORY += [
    Run("graphs", "llama-small-14m", options=("--cuda-graphs", "on"), steps=5),
    Run("deterministic", "llama-3.2-1b", keys=with_keys(pytorch={"deterministic": True})),
    Run("expandable", "llama-3.2-1b", keys=with_keys(allocator={"expandable_segments": True})),
    Run("expandable-2", "llama-small-14m", ranks=2, keys=with_keys(allocator={"expandable_segments": True})),
    Run("offload", "llama-small-14m", ranks=2, keys=with_keys(offload={"parameters": True})),
    Run("offload-optimizer", "llama-small-14m", keys=with_keys(offload={"optimizer": True})),
    Run("checkpointing", "llama-3.2-1b", micro_batch=2, sequence=2048,
        keys=with_keys(checkpointing={"mode": "full"}))]
# cuDNN's attention adds up gradients in another order in each run unless it is asked not to.
DETERMINISTIC = ("--deterministic",)
EQUALITY = [Run(name, **SMALL, repetition=repetition, options=(*DETERMINISTIC, *options))
            for name, repetition, options in (("first", 0, ()), ("second", 1, ()), ("poisoned", 0, ("--poison",)),
                                              ("graphs", 0, ("--cuda-graphs", "on")),
                                              ("without_graphs", 0, WITHOUT_GRAPHS))]
EQUALITY += [Run(name, **SMALL, ranks=2, repetition=repetition, options=DETERMINISTIC)
             for name, repetition in (("first-2", 0), ("second-2", 1))]
# Measured for the predictions by what the calibration learned, which are of steps without graphs. Tiny ones vary most.
CALIBRATED = [Run("14m", "llama-small-14m", micro_batch=4, sequence=512, steps=100, options=WITHOUT_GRAPHS),
              Run("110m", "llama-110m", micro_batch=4, steps=12, options=WITHOUT_GRAPHS),
              Run("1b-short", "llama-3.2-1b", sequence=512, steps=8, options=WITHOUT_GRAPHS),
              Run("1b-checkpointing", "llama-3.2-1b", micro_batch=2, sequence=2048, steps=8,
                  keys={**BF16, "checkpointing": {"mode": "full"}}, options=WITHOUT_GRAPHS)]

# Name, script and its arguments; CONFIGS is the folder of its models' configurations.
SCRIPTS = (("fsdp2_1b", "fsdp2_llama.py", "1b"), ("hf_trainer_qwen3", "hf_trainer_fsdp.py", "qwen3", "2"),
           ("ddp_gpt", "ddp_gpt.py"), ("trl_sft_lora", "trl_sft_lora.py"), ("accelerate", "accelerate_fsdp.py"),
           ("hf_trainer_moe", "hf_trainer_fsdp.py", "qwen3_moe"), ("ddp_gpt_compiled", "ddp_gpt.py", "--compile"),
           ("oracle_1b_checkpointing", "oracle_1b.py", "CONFIGS/llama3.2-1b.json", "ac"),
           ("measured_1b", "measured_step.py", "1b_w1"), ("hf_trainer_llama", "hf_trainer_fsdp.py", "llama"))


def predicted_runs(day):
    """[(run, stage that measured it, under this name)]"""
    own = [(run, "calibrate", run.name) for run in day.runs(CALIBRATED)]
    others = [(dataclasses.replace(day.runs(table)[1], name=name), stage, "without_graphs")
              for name, stage, table in (("1b", "speed", SPEED), ("8b-4-blocks", "large", LARGE))]
    return own + others


@dataclasses.dataclass(frozen=True)
class Stage:
    seconds: int            # at most
    steps: object           # of a Day


def libraries(day):
    yield Step("found", [sys.executable, f"{HERE}/libraries.py", str(day.folder)], 60)
    yield Step("machine", ["sh", "-c", "nvidia-smi; uname -a; \"$@\"", "sh", *day.python, "-c",
                           "import torch; print(torch.__config__.show(), torch.__version__, torch.cuda.nccl.version())"])


def smoke(day):
    for run in day.runs(SMOKE):
        yield day.train("smoke", run, variables={"CUDA_LAUNCH_BLOCKING": "1"})


def kernels(day):
    # A misaligned address is an error that stays: those tests have a process of their own.
    for name, chosen in (("aligned", "-*/misaligned"), ("misaligned", "*/misaligned")):
        yield Step(name, [day.program("gpu_kernels_test"), "--gtest_brief=1", f"--gtest_filter={chosen}"], 150)


def speed(day):
    for run in day.runs(SPEED):
        yield day.train("speed", run, seconds=90)
    recorded = dataclasses.replace(day.runs(SPEED)[1], name="recorded")
    yield day.train("speed", recorded, "--trace", day.path("speed", "recorded.fst"), seconds=90)
    yield day.inspect("speed", "recorded")
    if day.machine:
        yield day.predict("speed", day.runs(SPEED)[0], *day.by_catalogue())
    if day.pytorch:
        yield Step("pytorch", [*day.python, "scripts/gpu/step_times.py", day.pytorch, day.path("speed", "pytorch"),
                               "--seconds", "120", "--only", "^1b_w1(_compile)?$"], 180)


def large(day):
    for run in day.runs(LARGE):
        yield day.train("large", run, seconds=120)
    if day.machine:
        yield day.predict("large", day.runs(LARGE)[0], *day.by_catalogue())


def memory(day):
    for run in day.runs(MEMORY):
        yield day.train("memory", run, seconds=60)
        yield day.predict("memory", run)


def equality(day):
    for run in day.runs(EQUALITY):
        yield day.train("equality", run, "--export-weights", day.path("equality", f"{run.name}.safetensors"))


def calibrate(day):
    limit = "1" if day.is_trial else "150"
    yield Step("calibrate", [day.program("foreshard"), "calibrate", "-q", "--device", "cuda", "--time-limit", limit,
                             "--report", "-o", day.path("calibrate", "costs.json")], 200)
    for run in day.runs(CALIBRATED):
        yield day.train("calibrate", run, seconds=60)
    for run, _, _ in predicted_runs(day):
        yield day.predict("calibrate", run, "--costs", day.path("calibrate", "costs.json"))


def agreement(day):
    yield Step("agreement", [day.program("gpu_agreement_test"), "--gtest_brief=1"], 150,
               {"FORESHARD_PROPERTY_DRAWS": "15"})


def reference(day):
    if day.training:
        yield Step("losses", [sys.executable, "scripts/gpu/training_reference.py", day.training,
                              day.path("reference", "losses"), "--program", day.program("foreshard"), "--seconds", "30",
                              "--", "--device", "cuda"], 200)


def profile(day):
    trace, kineto = day.path("profile", "pytorch.fst"), day.path("profile", "kineto.json.gz")
    yield Step("profile", [day.program("foreshard"), "profile", "-o", trace, "--", *day.python,
                           "scripts/gpu/profiled_script.py", kineto], 120)
    yield day.inspect("profile", "pytorch")
    yield Step("compared", ["sh", "-c", "\"$@\" > \"$0\"", day.path("profile", "compared.json"), sys.executable,
                            f"{HERE}/compare_kernels.py", trace, kineto])


def scripts(day):
    """Each where it may write: beside the others' answers. All by themselves first."""
    in_folder = ["env", "-C", str(day.out / "scripts")]
    jobs = {name: [*day.python, str(pathlib.Path("scripts/gpu/script_steps.py").resolve()),
                   day.path("scripts", "steps.jsonl"), f"{day.scripts}/{script}",
                   *(word.replace("CONFIGS", f"{day.scripts}/configs") for word in arguments)]
            for name, script, *arguments in (SCRIPTS if day.scripts else ())}
    for name, job in jobs.items():
        yield Step(name, [*in_folder, *job], 90)
    for name, job in jobs.items():
        if day.has_passed("scripts", name):
            yield Step(f"{name}-profiled", [*in_folder, day.program("foreshard"), "profile", "-o",
                                            day.path("scripts", f"{name}.fst"), "--", *job], 120)
            yield day.inspect("scripts", name)


def nccl(day):
    run = Run("two_hosts", **SMALL, ranks=2)
    command = day.train("nccl", day.runs([run])[0], "--comm", "nccl", "--trace", day.path("nccl", "two_hosts.fst"))
    yield dataclasses.replace(command, command=[sys.executable, f"{HERE}/two_hosts.py", *command.command])
    yield day.inspect("nccl", "two_hosts")


def pytorch(day):
    if not day.pytorch:
        return
    yield Step("outside_allocator", [*day.python, "scripts/gpu/outside_allocator.py"], 60)
    for name, seconds in (("step_times", 200), ("memory_peaks", 150)):
        yield Step(name, [*day.python, f"scripts/gpu/{name}.py", day.pytorch, day.path("pytorch", name),
                          "--seconds", str(seconds - 50)], seconds)


def sanitizer(day):
    # Our kernels only: instrumenting those of NVIDIA's libraries takes minutes.
    for tool in ("memcheck", "racecheck", "initcheck"):
        yield Step(tool, ["compute-sanitizer", "--tool", tool, "--error-exitcode", "9", "--kernel-regex",
                          "kns=foreshard", day.program("gpu_kernels_test"), "--gtest_brief=1",
                          "--gtest_filter=*Rows*:*Elements*:*Attention*"], 150)


STAGES = {
    "libraries": Stage(100, libraries), "smoke": Stage(60, smoke), "kernels": Stage(300, kernels),
    "speed": Stage(400, speed), "large": Stage(150, large), "memory": Stage(400, memory),
    "equality": Stage(120, equality), "calibrate": Stage(450, calibrate), "agreement": Stage(160, agreement),
    "reference": Stage(200, reference), "profile": Stage(150, profile), "scripts": Stage(500, scripts),
    "nccl": Stage(80, nccl), "pytorch": Stage(420, pytorch), "sanitizer": Stage(450, sanitizer)}
