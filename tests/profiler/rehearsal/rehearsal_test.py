"""Small scripts through `foreshard rehearse`; without what they need (needs.py) every test is skipped, by
name."""

import json
import pathlib
import shutil
import socket
import subprocess
import tempfile
import unittest

from needs import PROGRAM, PYTHON, missing

MIB = 1 << 20

MODEL = """import sys, torch, torch.nn as nn
net = nn.Linear(256, 64).cuda(); optim = torch.optim.SGD(net.parameters(), lr=0.1)
for step in range(5):
    x = torch.ones(32, 256).cuda(); y = net(x)
    {}
    y.square().mean().backward(); optim.step(); optim.zero_grad()
"""


MISSING = missing()


def free_port():
    with socket.socket() as listening:
        listening.bind(("localhost", 0))
        return str(listening.getsockname()[1])


def absent(package):
    ask = f"import importlib.util, sys; sys.exit(importlib.util.find_spec('{package}') is not None)"
    return subprocess.run([PYTHON, "-c", ask]).returncode == 0


@unittest.skipIf(MISSING, MISSING)
class Rehearsal(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def rehearse(self, text, *options, command=(PYTHON, "script.py")):
        """(exit status, answer or None, standard error)"""
        (self.folder / "script.py").write_text(text)
        done = subprocess.run(
            [PROGRAM, "rehearse", "--json", "-", "-o", "run.fst", *options, "--", *command],
            cwd=self.folder,
            capture_output=True,
            text=True,
            timeout=300,
        )
        return done.returncode, json.loads(done.stdout) if done.stdout else None, done.stderr

    def test_a_script_fits_where_its_tensors_do_and_not_in_less(self):
        text = f"""import torch, torch.nn as nn
class Body(nn.Module):
    def __init__(self): super().__init__(); self.w = nn.Parameter(torch.empty({10 * MIB}, device="cuda"))
    def forward(self, f): return self.w * f
class Net(nn.Module):
    def __init__(self): super().__init__(); self.body = Body()
    def forward(self, f): return self.body(f)
net = Net(); optim = torch.optim.SGD(net.parameters(), lr=0.1)
for step in range(5):
    net(3.0).sum().backward(); optim.step(); optim.zero_grad()
"""
        whole = 2 * 40 * MIB + 2 * MIB
        status, answer, _ = self.rehearse(text, "--device-memory", str(whole))
        self.assertEqual(status, 0)
        self.assertEqual([step["peak_reserved_bytes"] for step in answer["steps"]], 3 * [whole])
        peaks = [step["peak_allocated_bytes"] for step in answer["steps"]]
        self.assertEqual(answer["peak"]["step"], 1 + peaks.index(max(peaks)))
        status, answer, _ = self.rehearse(text, "--device-memory", str(whole - 4 * MIB))
        self.assertEqual((status, answer["fits"]), (3, False))
        oom = answer["oom"]
        self.assertEqual(
            (oom["operator"], oom["module"], oom["where"], oom["requested_bytes"]),
            ("aten::mul", "body", f"{self.where(4)}", 40 * MIB),
        )

    def where(self, line):
        return f"{(self.folder / 'script.py').resolve()}:{line}"

    def test_two_runs_write_the_same_file(self):
        files = []
        for _ in range(2):
            self.assertEqual(self.rehearse(MODEL.format("pass"))[0], 0)
            files.append((self.folder / "run.fst").read_bytes())
        self.assertEqual(*files)

    def test_floats_are_invented_and_listed(self):
        status, answer, error = self.rehearse(
            MODEL.format("print('loss', y.mean().item(), bool(torch.isfinite(y).all()))"),
            "--loss",
            "2.5",
        )
        self.assertEqual(status, 0, error)
        self.assertEqual(error.count("loss 2.5 True"), 3)
        rows = {row["what"]: (row["where"], row["count"], row["answer"]) for row in answer["invented"]}
        self.assertEqual(rows, {"item": (self.where(5), 3, 2.5), "bool": (self.where(5), 3, True)})

    def test_equal_modules_share_what_is_compiled(self):
        text = """import torch, torch.nn as nn
net = nn.ModuleList(nn.Linear(64, 64) for _ in range(3)).cuda(); optim = torch.optim.SGD(net.parameters(), lr=0.1)
compiled = [torch.compile(layer, backend="aot_eager") for layer in net]
for step in range(3):
    x = torch.ones(8, 64, device="cuda", requires_grad=True)
    for layer in compiled: x = layer(x)
    x.sum().backward(); optim.step(); optim.zero_grad()
    print("graphs", torch._dynamo.utils.counters["stats"]["unique_graphs"])
"""
        status, _, error = self.rehearse(text)
        self.assertEqual((status, error.count("graphs 1\n")), (0, 2), error)

    def test_a_compiled_checkpoint_draws_its_random_numbers_again(self):
        text = """import torch, torch.nn as nn
from torch.utils.checkpoint import checkpoint
net = nn.Sequential(nn.Linear(64, 64), nn.Dropout(0.5)).cuda(); optim = torch.optim.SGD(net.parameters(), lr=0.1)
compiled = torch.compile(lambda x: checkpoint(net, x, use_reentrant=False), backend="aot_eager_decomp_partition")
for step in range(3):
    compiled(torch.ones(8, 64, device="cuda", requires_grad=True)).sum().backward(); optim.step()
"""
        status, answer, error = self.rehearse(text)
        self.assertEqual((status, len(answer["steps"])), (0, 3), error)

    def test_integers_from_the_host_are_known(self):
        status, answer, error = self.rehearse(
            MODEL.format(
                "n = torch.tensor([0, 3, 0, 4]).cuda(); print('got', x[:4][n != 0].shape[0], "
                "int(n.sum()), n.tolist(), len(torch.unique(n)), torch.equal(n, n))"
            )
        )
        self.assertEqual((status, answer["invented"]), (0, []), error)
        self.assertIn("got 2 7 [0, 3, 0, 4] 3 True", error)

    def test_tensors_made_of_numbers_are_known(self):
        text = MODEL.format(
            "from numpy import arange as a; made = [torch.tensor(7, device='cuda'), torch.tensor([3, 4], device='cuda')[1],"
            " y.new_tensor(5, dtype=torch.int64), torch.as_tensor(a(3), device='cuda')[2], torch.tensor(2.5, device='cuda')];"
            " print('made', [t.item() for t in made], file=sys.stderr)"
        )
        status, answer, error = self.rehearse(text)
        self.assertEqual((status, answer["invented"]), (0, []), error)
        self.assertIn("made [7, 4, 5, 2, 2.5]", error)

    def test_values_do_not_rest_on_functions_that_the_script_replaces(self):
        # As libraries do that make models elsewhere than where their code says.
        text = MODEL.format("known = torch.arange(9, device='cuda'); known[0] = 3; print('known', known.sum().item())")
        elsewhere = """import torch, functools
for name in ("empty", "full", "arange", "zeros", "ones", "tensor"):
    setattr(torch, name, functools.partial(getattr(torch, name), device="cuda"))
"""
        for before in (elsewhere, "import torch; torch.set_default_device('cuda')\n"):
            status, answer, error = self.rehearse(before + text)
            self.assertEqual((status, answer["invented"]), (0, []), error)

    def test_a_selection_by_an_unknown_mask_takes_everything(self):
        status, answer, _ = self.rehearse(MODEL.format("print(x[y.amax(1) > 0].shape)"))
        self.assertEqual(status, 0)
        counts = [row for row in answer["invented"] if row["what"] == "count"]
        self.assertEqual([(row["count"], row["answer"]) for row in counts], [(3, 32)])

    def test_the_gradient_of_a_selection_selects_as_much(self):
        status, answer, error = self.rehearse(
            MODEL.format("n = torch.arange(32).cuda(); y = y[n > 9]; print('rows', y.shape[0])")
        )
        self.assertEqual((status, answer["invented"]), (0, []), error)
        self.assertEqual(error.count("rows 22"), 3)

    def test_a_loop_that_waits_for_an_invented_value_is_ended_by_name(self):
        status, _, error = self.rehearse(MODEL.format("while y.mean().item() < 1e3: y = y + 1"))
        self.assertEqual(status, 1)
        self.assertIn(f"foreshard: error: {self.where(5)}: read the invented value 1.0", error)

    def test_an_object_of_another_rank_is_ended_by_name(self):
        text = """import torch, torch.distributed as dist
dist.init_process_group("gloo")
box = [{"width": 64} if dist.get_rank() == 0 else None]
dist.broadcast_object_list(box, src=0)
print("width", box[0]["width"], dist.get_backend(), dist.get_world_size())
"""
        status, _, error = self.rehearse(text, "--ranks", "4")
        self.assertEqual(status, 0, error)
        self.assertIn("width 64 gloo 4", error)
        status, _, error = self.rehearse(text, "--ranks", "4", "--rank", "3")
        self.assertEqual(status, 1)
        self.assertIn(f"{self.where(4)}: broadcast_object_list needs an object that only rank 0", error)
        self.assertIn("expected --real-ranks 0,1,2,3", error)

    def test_a_rank_hears_what_those_before_it_have_told(self):
        text = """import torch, torch.distributed as dist
dist.init_process_group("nccl"); rank = dist.get_rank()
box = [{"width": 8} if rank == 0 else None]; dist.broadcast_object_list(box, src=0)
n = torch.tensor(7 if rank == 0 else -1, device="cuda"); dist.broadcast(n, src=0)
each = torch.zeros(4, dtype=torch.int64, device="cuda"); dist.all_gather_into_tensor(each, n.view(1) + rank)
late = torch.tensor([rank], device="cuda"); dist.broadcast(late, src=3)
print("rank", rank, box[0]["width"], n.item(), each.tolist(), late.item())
w = torch.ones(4, device="cuda", requires_grad=True); optim = torch.optim.SGD([w])
for step in range(3): w.sum().backward(); optim.step()
"""
        for ranks in ("0,3", "all-shapes"):
            status, answer, error = self.rehearse(text, "--ranks", "4", "--rank", ranks)
            self.assertEqual((status, answer["fits"]), (0, True), error)
            self.assertIn("rank 0 8 7 [7, 7, 7, 7] 0", error)
            self.assertIn("rank 3 8 7 [7, 10, 10, 10] 3", error)

    def test_ranks_that_run_together_hear_what_only_others_know(self):
        text = """import os, torch, torch.distributed as dist
dist.init_process_group(BACKEND); rank = dist.get_rank()
box = [{"width": 8} if rank == 0 else None]; dist.broadcast_object_list(box, src=0)
objects = [None] * 4; dist.all_gather_object(objects, rank)
n = torch.arange(2).to(DEVICE) + rank; each = [torch.zeros_like(n) for _ in range(4)]; dist.all_gather(each, n)
total, most = n.clone(), n.clone(); dist.all_reduce(total); dist.all_reduce(most, dist.ReduceOp.MAX)
dist.broadcast(n, src=3)
said = "rank", rank, box[0]["width"], objects, [v.tolist() for v in each], total.tolist(), most.tolist(), n.tolist()
os.write(1, (" ".join(map(str, said)) + "\\n").encode())  # in one piece, beside the other rank's
w = torch.ones(4, device="cuda", requires_grad=True); optim = torch.optim.SGD([w])
for step in range(3): w.sum().backward(); optim.step()
"""
        for backend, device in (("nccl", "cuda"), ("gloo", "cpu")):
            with self.subTest(backend):
                here = text.replace("BACKEND", repr(backend)).replace("DEVICE", repr(device))
                status, answer, error = self.rehearse(here, "--ranks", "4", "--real-ranks", "0,3")
                self.assertEqual((status, answer["invented"]), (0, []), error)
                self.assertEqual([row["rank"] for row in answer["ranks_rehearsed"]], [0, 3])
                self.assertEqual(answer["question"]["real_ranks"], [0, 3])
                gathered = "[[0, 1], [0, 1], [0, 1], [3, 4]] [3, 7] [3, 4] [3, 4]"
                self.assertIn(f"rank 0 8 [0, 0, 0, 3] {gathered}", error)
                gathered = "[[0, 1], [3, 4], [3, 4], [3, 4]] [9, 13] [3, 4] [3, 4]"
                self.assertIn(f"rank 3 8 [0, 3, 3, 3] {gathered}", error)

    def test_groups_of_a_device_that_is_named_are_split_off(self):
        text = """import torch, torch.distributed as dist
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
dist.init_process_group("nccl", device_id=torch.device("cuda", 0))
mesh = init_device_mesh("cuda", (2, 4), mesh_dim_names=("replicate", "shard"))
net = torch.nn.Linear(64, 64, device="cuda"); fully_shard(net, mesh=mesh)
part, other = dist.new_group([0, 3]), dist.new_group([1, 2]); n = torch.tensor([2]).cuda(); dist.all_reduce(n, group=part); print("sum", int(n))
optim = torch.optim.SGD(net.parameters())
for step in range(3): net(torch.ones(8, 64, device="cuda")).sum().backward(); optim.step()
"""
        status, answer, error = self.rehearse(text, "--ranks", "8")
        self.assertEqual(status, 0, error)
        self.assertIn("sum 4", error)
        collectives = {(row["kind"], row["ranks"]) for row in answer["steps"][-1]["collectives"]}
        self.assertEqual(collectives, {("all_gather", 4), ("reduce_scatter", 4), ("all_reduce", 2)})

    def test_stages_of_a_pipeline_wait_for_each_other(self):
        text = """import os, sys, torch, torch.nn as nn, torch.distributed as dist
from torch.distributed.pipelining import PipelineStage, Schedule1F1B
dist.init_process_group("nccl"); rank = dist.get_rank()
stage = nn.Sequential(*[nn.Linear(8192, 8192, bias=False) for _ in range(2)]).cuda().bfloat16()
x = torch.ones(32768, 8192, dtype=torch.bfloat16, device="cuda")
shapes = {"input_args": x.to("meta")[:8192], "output_args": x.to("meta")[:8192]} if "known" in sys.argv else {}
stage = PipelineStage(stage, rank, 2, torch.device("cuda"), **shapes)
schedule = Schedule1F1B(stage, 4, loss_fn=lambda y, t: y.square().mean())
optim = torch.optim.SGD(stage.submod.parameters())
for step in range(5):
    schedule.step(x) if rank == 0 else schedule.step(target=x)
    optim.step(); optim.zero_grad()
"""
        options = ("--ranks", "2", "--machine", "h100-sxm")
        status, answer, error = self.rehearse(text, "--rank", "all-shapes", *options)
        self.assertEqual((status, answer["unpriced"]), (0, []), error)
        times, peaks = [], []
        for rank in ("0", "1"):  # each alone, with shapes that nobody has to tell
            status, alone, error = self.rehearse(
                text, "--rank", rank, *options, command=(PYTHON, "script.py", "known")
            )
            self.assertEqual(status, 0, error)
            times.append(alone["step_time_ns"])
            peaks.append([step["peak_allocated_bytes"] for step in alone["steps"][1:]])
        together = [  # but for the first step, in which shapes were found out
            [step["peak_allocated_bytes"] for step in row["steps"][1:]] for row in answer["ranks_rehearsed"]
        ]
        self.assertEqual(together, peaks)
        # Of 4 micro-batches in 2 stages each stage waits for one, beside what no stage waits with: the optimizer.
        self.assertGreater(answer["step_time_ns"], 1.1 * max(times))
        self.assertLess(answer["step_time_ns"], 1.25 * max(times))
        status, _, error = self.rehearse(text, "--rank", "1", *options)
        self.assertEqual(status, 1)
        self.assertIn("needs an object that only rank 0 has, which does not run; expected --real-ranks 0,1", error)

    def test_what_a_graph_launches_is_priced_and_costs_the_host_one_call(self):
        text = """import sys, torch, torch.nn as nn
mode = sys.argv[1]
net = nn.Sequential(*[nn.Linear(512, 512) for _ in range(40)]).cuda().bfloat16()
optim = torch.optim.SGD(net.parameters(), lr=1e-3, fused=True)
x = torch.ones(64, 512, device="cuda", dtype=torch.bfloat16)
run = torch.cuda.make_graphed_callables(net, (x,)) if mode == "callables" else net
def step():
    run(x).square().mean().backward(); optim.step(); optim.zero_grad(set_to_none=mode != "step")
if mode == "step":
    step(); graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph): step()
    with torch.profiler.profile() as profile: graph.replay()
    kernels = [event.name for event in profile.events() if event.device_type == torch.autograd.DeviceType.CUDA]
    print("profiled products:", kernels.count("matrix_product"), file=sys.stderr)
    step = graph.replay
for _ in range(5): step()
"""
        answers = {}
        for mode in ("plain", "callables", "step"):
            status, answer, error = self.rehearse(
                text, "--steps", "4", "--machine", "h100-sxm", command=(PYTHON, "script.py", mode)
            )
            self.assertEqual((status, answer["unpriced"], len(answer["steps"])), (0, [], 4), error)
            answers[mode] = answer
        self.assertIn("profiled products: 119", error)
        for mode in ("callables", "step"):
            self.assertEqual(answers[mode]["steps"][3]["matrix_products"], 119)
        # A step of 400 launches that take the device less than the host; one call launches a graph.
        plain, callables, step = (answers[mode]["step_time_ns"] for mode in ("plain", "callables", "step"))
        self.assertLess(callables, 0.6 * plain)
        self.assertLess(step, callables)

    def test_an_optimizer_that_steps_group_by_group_ends_one_step(self):
        # As DeepSpeed's ZeRO 1 and 2 have it step.
        text = MODEL.format("").replace("net.parameters()", "[{'params': [p]} for p in net.parameters()]").replace(
            "optim.step()",
            "groups = optim.param_groups\n    for group in groups: optim.param_groups = [group]; optim.step()"
            "\n    optim.param_groups = groups",
        )
        status, answer, error = self.rehearse(text)
        self.assertEqual(status, 0, error)
        self.assertEqual([step["matrix_products"] for step in answer["steps"]], [2, 2, 2])

    def test_a_script_that_ends_before_has_its_own_status(self):
        status, answer, error = self.rehearse(MODEL.format("if step == 1: sys.exit(17)"))
        self.assertEqual((status, len(answer["steps"])), (17, 1), error)
        self.assertIn("the script ended after 1 step of 3", answer["notes"])

    def test_transforms_and_factorizations_run_and_note_what_is_not_known(self):
        text = MODEL.format(
            "a = torch.eye(8).cuda().requires_grad_(); s = torch.linalg.svdvals(a).sum()\n"
            "    (s + torch.linalg.inv(a).sum() + torch.fft.rfft(a).abs().sum()).backward()\n"
            "    c = torch.sparse_coo_tensor(torch.tensor([[0, 1], [1, 0]]).cuda(), torch.ones(2).cuda(), (8, 8))\n"
            "    torch.sparse.mm(c, a).sum().backward()"
        )
        status, answer, error = self.rehearse(text)
        self.assertEqual(status, 0, error)
        for library in ("cuFFT", "cuSOLVER", "cuSPARSE"):
            note = f"workspaces of {library} are not known without a GPU and count as 0: memory is a lower bound"
            self.assertIn(note, answer["notes"])

    @unittest.skipIf(
        not MISSING and (absent("datasets") or absent("transformers")), "needs datasets and transformers"
    )
    def test_data_and_tokenizers_need_no_network(self):
        (self.folder / "model").mkdir()
        config = {"model_type": "llama", "vocab_size": 1000, "architectures": ["LlamaForCausalLM"]}
        (self.folder / "model/config.json").write_text(json.dumps(config))
        text = """import torch, datasets, transformers
tokenizer = transformers.AutoTokenizer.from_pretrained("model")
whole = datasets.load_dataset("somebody/text")
part = datasets.load_dataset("somebody/chat", split="train", streaming=True)
ids = tokenizer(whole["validation"][0]["text"], truncation=True, max_length=64, return_tensors="pt").input_ids.cuda()
chat = tokenizer.apply_chat_template(next(iter(part))["messages"])
print("has", sorted(whole), ids.shape, len(tokenizer), whole["train"].column_names, tokenizer.decode(ids[0])[:10])
net = torch.nn.Embedding(1000, 8).cuda(); optim = torch.optim.SGD(net.parameters())
for step in range(3): net(ids).sum().backward(); optim.step()
"""
        status, answer, error = self.rehearse(text, "--data", "synthetic:text,messages")
        self.assertEqual((status, answer["invented"]), (0, []), error)
        self.assertEqual(answer["question"]["data"], "synthetic:text,messages")
        splits = "['test', 'train', 'validation'] torch.Size([1, 64]) 1000 ['text', 'messages'] Every rank"
        self.assertIn(f"has {splits}", error)
        self.assertIn("from_pretrained: model has no tokenizer here; each byte was a token", answer["notes"])

    def test_what_is_left_out_is_noted(self):
        text = MODEL.format(
            "torch.save({'w': torch.empty(8 << 20)}, 'w.pt'); torch.empty(1 << 20).normal_()"
        )
        status, answer, error = self.rehearse(text)
        self.assertEqual(status, 0, error)
        self.assertIn("torch.save of large tensors wrote nothing", answer["notes"])
        self.assertFalse((self.folder / "w.pt").exists())
        self.assertIn("large tensors on the host were not filled with random numbers", answer["notes"])

    def test_memory_that_runs_out_in_a_backward_pass_is_the_modules_whose_forward_pass_was_there(self):
        text = f"""import torch, torch.nn as nn, torch.utils.checkpoint as checkpoints
class Body(nn.Module):
    def __init__(self): super().__init__(); self.w = nn.Parameter(torch.empty({10 * MIB}, device="cuda"))
    def forward(self, f): return self.w.sigmoid()
class Net(nn.Module):
    def __init__(self): super().__init__(); self.bodies = nn.ModuleList([Body()])
    def forward(self, f): return CALL.sum()
net = Net(); optim = torch.optim.SGD(net.parameters(), lr=0.1)
net(torch.ones(1, device="cuda", requires_grad=True)).backward()
"""
        whole = 3 * 40 * MIB + 2 * MIB
        for call in (
            "self.bodies[0](f)",
            "checkpoints.checkpoint(self.bodies[0], f, use_reentrant=False)",
            "checkpoints.checkpoint(self.bodies[0], f, use_reentrant=True)",
        ):
            script = text.replace("CALL", call)
            status, answer, error = self.rehearse(script, "--device-memory", str(whole - 20 * MIB))
            self.assertEqual(status, 3, error)
            oom = answer["oom"]
            self.assertEqual((oom["module"], oom["where"]), ("bodies.0", self.where(9)), call)
            self.assertEqual(oom["operator"], "aten::sigmoid_backward")

    def test_routers_choose_what_is_said(self):
        text = """import torch, torch.nn as nn
net = nn.Linear(8, 4).cuda(); optim = torch.optim.SGD(net.parameters(), lr=0.1)
for step in range(3):
    chosen = torch.topk(net(torch.ones(60, 8, device="cuda")), 2, dim=-1).indices.flatten()
    counts = torch.bincount(chosen, minlength=4).tolist()
    same = torch.histc(chosen.int(), bins=4, min=0, max=3).tolist() == counts
    same = same and nn.functional.one_hot(chosen, 4).sum(0).tolist() == counts
    parts = torch.ones(120, 8, device="cuda")[chosen.argsort()].split(counts)
    print("tokens", [part.shape[0] for part in parts], same)
    sum(net(part).sum() for part in parts).backward(); optim.step()
"""
        for law, counts in (("balanced", "[30, 30, 30, 30]"), ("zipf:1", "[58, 29, 19, 14]")):
            status, answer, error = self.rehearse(text, "--routing", law)
            self.assertEqual((status, answer["invented"]), (0, []), error)
            self.assertEqual(error.count(f"tokens {counts} True"), 3, error)
            self.assertIn(f"routers (topk, argmax) chose experts as --routing {law} says", answer["notes"])

    def test_an_exchange_of_counts_brings_what_this_rank_keeps(self):
        text = """import torch, torch.distributed as dist, torch.distributed._functional_collectives as functional
dist.init_process_group("nccl")
counts = torch.tensor([1, 2, 3, 4, 5, 6, 7, 8]).cuda(); got = torch.empty_like(counts)
dist.all_to_all_single(got, counts)
print("got", got.tolist(), functional.all_to_all_single(counts, None, None, dist.group.WORLD).tolist())
"""
        status, _, error = self.rehearse(text, "--ranks", "4", "--rank", "1")
        self.assertEqual(status, 0, error)
        self.assertIn("got [3, 4, 3, 4, 3, 4, 3, 4] [3, 4, 3, 4, 3, 4, 3, 4]", error)

    def test_host_tensors_that_nothing_filled_cost_nothing_to_convert(self):
        text = """import resource, torch
def mib(): return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10
torch.ones(8).to(torch.bfloat16); before = mib()
w = torch.empty(1 << 28).normal_(); w[3].zero_(); w[7] = 5.0
half = w.to(torch.bfloat16); other = torch.empty(1 << 28); other.copy_(w); again = other.clone(); both = torch.stack([torch.empty(1 << 28).normal_().half()])
grown = mib() - before; print("grew", grown < 400 or grown, half[7].item(), other[7].item(), half[3].item())
ones = torch.ones(1 << 20); w = torch.empty(1 << 20).normal_(); w.fill_(2)
print("kept", ones.double().sum().item(), w.clone().sum().item(), ones.clone().sum().item())
"""
        status, answer, error = self.rehearse(text)
        self.assertEqual(status, 0, error)
        self.assertIn("grew True 5.0 5.0 0.0", error)
        self.assertIn("kept 1048576.0 2097152.0 1048576.0", error)
        note = "large tensors on the host that nothing filled were moved without their values"
        self.assertIn(note, answer["notes"])

    def test_a_rank_of_each_kind_of_shard_is_rehearsed(self):
        text = """import torch, torch.distributed as dist, torch.nn as nn
from torch.distributed.fsdp import fully_shard
dist.init_process_group("nccl")
net = nn.Linear(1 << 20, 5, bias=False, device="cuda"); fully_shard(net); optim = torch.optim.AdamW(net.parameters())
for step in range(2):
    net(torch.ones(1, 1 << 20, device="cuda")).sum().backward(); optim.step(); optim.zero_grad()
print("rows", dist.get_rank(), net.weight.to_local().shape[0])
"""
        status, answer, error = self.rehearse(text, "--ranks", "8", "--rank", "all-shapes", "--steps", "3")
        self.assertEqual(status, 0, error)
        self.assertEqual([row["rank"] for row in answer["ranks_rehearsed"]], [0, 7])
        self.assertIn("rows 0 1", error)
        self.assertIn("rows 7 0", error)
        self.assertEqual((answer["rank"], answer["fits"]), (0, True))
        peaks = [row["steps"][-1]["peak_active_bytes"] for row in answer["ranks_rehearsed"]]
        self.assertGreater(peaks[0], peaks[1])

    def launched(self, *command, options=()):
        """The variables that a rank finds, and what it is called with."""
        text = (
            "import json, os, sys; "
            "print('seen', json.dumps({'argv': sys.argv, **os.environ}))"
        )
        status, answer, error = self.rehearse(text, *options, command=command)
        self.assertEqual(status, 0, error)
        lines = [line for line in error.splitlines() if line.startswith("seen ")]
        self.assertEqual(len(lines), 1, error)
        return json.loads(lines[0][5:]), answer

    def check_like_the_real_launcher(self, rank, ranks, *command):
        """Every variable of that rank is the launcher's own, but for names of files and what a rehearsal adds."""
        ours = {"PYTHONPATH", "LD_LIBRARY_PATH", "LD_PRELOAD", "TRITON_LIBCUDA_PATH"}
        seen, answer = self.launched(*command, options=("--rank", str(rank)))
        self.assertEqual((answer["ranks"], answer["rank"]), (ranks, rank))
        done = subprocess.run(command, cwd=self.folder, capture_output=True, text=True, timeout=300)
        real = [
            json.loads(line.partition("seen ")[2])
            for line in done.stdout.splitlines()
            if "seen " in line
        ]
        self.assertEqual(len(real), ranks, done.stderr)
        real = next(row for row in real if row.get("RANK", "0") == str(rank))
        for name, value in real.items():
            if name not in (*ours, "TORCHELASTIC_ERROR_FILE"):
                self.assertEqual(seen.get(name), value, name)
        added = {name for name in set(seen) - set(real) if not name.startswith("FORESHARD_")}
        self.assertLessEqual(added, ours)

    def test_torchrun_starts_the_rank_that_is_asked_for(self):
        run = (PYTHON, "-m", "torch.distributed.run")
        self.check_like_the_real_launcher(1, 2, *run, "--nproc_per_node", "2", *("--master_port", free_port()), "script.py", "--lr", "1")
        seen, answer = self.launched(
            *run, "--nproc-per-node=4", "--nnodes=2", "--rdzv-backend=c10d", "--rdzv-endpoint=far:1",
            "script.py", options=("--rank", "6"),
        )  # fmt: skip
        self.assertEqual((answer["ranks"], answer["rank"]), (8, 6))
        names = ("RANK", "LOCAL_RANK", "GROUP_RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE", "GROUP_WORLD_SIZE")
        self.assertEqual([seen[name] for name in names], ["6", "2", "1", "8", "4", "2"])

    def test_what_the_launcher_contradicts_is_refused(self):
        run = (PYTHON, "-m", "torch.distributed.run", "--nproc_per_node", "2", "script.py")
        for options, words in (
            (("--ranks", "4"), "--ranks: 4 is not the launcher's number of ranks; expected 2"),
            (("--rank", "2"), "--rank: 2 is not a rank of the launcher's job; expected 0 to 1"),
        ):
            status, _, error = self.rehearse("", *options, command=run)
            self.assertEqual(status, 2, error)
            self.assertIn(words, error)

    @unittest.skipIf(not MISSING and absent("accelerate"), f"{PYTHON} has no accelerate")
    def test_accelerate_starts_the_rank_that_is_asked_for(self):
        run = (PYTHON, "-m", "accelerate.commands.launch")
        self.check_like_the_real_launcher(
            1, 2, *run, "--main_process_port", free_port(), "--use_fsdp", "--num_processes", "2", "--fsdp_version", "2",
            "--fsdp_offload_params", "true", "script.py", "--lr", "1",
        )  # fmt: skip
        (self.folder / "two.yaml").write_text(
            "compute_environment: LOCAL_MACHINE\ndistributed_type: MULTI_GPU\nmixed_precision: bf16\n"
            "num_machines: 2\nnum_processes: 6\nmachine_rank: 0\nmain_process_ip: far\n"
            "main_process_port: 1234\nuse_cpu: false\n"
        )
        seen, answer = self.launched(
            *run, "--config_file", "two.yaml", "script.py", options=("--rank", "4")
        )
        self.assertEqual((answer["ranks"], answer["rank"]), (6, 4))
        names = ("RANK", "LOCAL_RANK", "MASTER_ADDR", "ACCELERATE_MIXED_PRECISION")
        self.assertEqual([seen[name] for name in names], ["4", "1", "far", "bf16"])

    @unittest.skipIf(not MISSING and absent("deepspeed"), f"{PYTHON} has no deepspeed")
    def test_deepspeed_starts_the_rank_that_is_asked_for(self):
        run = (PYTHON, str(pathlib.Path(PYTHON).with_name("deepspeed")))
        (self.folder / "hosts").write_text("one slots=2\ntwo slots=2\n")
        seen, answer = self.launched(
            *run, "--hostfile", "hosts", "script.py", "--lr", "1", options=("--rank", "3")
        )
        self.assertEqual((answer["ranks"], answer["rank"]), (4, 3))
        names = ("RANK", "LOCAL_RANK", "WORLD_SIZE", "LOCAL_SIZE")
        self.assertEqual([seen[name] for name in names], ["3", "1", "4", "2"])
        self.assertEqual(seen["argv"], ["script.py", "--local_rank=1", "--lr", "1"])

    @unittest.skipIf(not MISSING and absent("transformers"), f"{PYTHON} has no transformers")
    def test_a_model_without_weights_is_loaded(self):
        text = """import os, torch, transformers
small = dict(vocab_size=64, hidden_size=32, intermediate_size=64, num_hidden_layers=1, num_attention_heads=2)
config = transformers.LlamaConfig(**small, num_key_value_heads=2, architectures=["LlamaForCausalLM"])
config.save_pretrained("model"); open("model/model.safetensors.index.json", "w").write(
    '{"weight_map": {"lm_head.weight": "model-00001.safetensors"}}')
model = transformers.AutoModelForCausalLM.from_pretrained("model", device_map="cuda:0")
print("loaded", model.name_or_path, sorted(os.listdir("model")), next(model.parameters()).device)
"""
        status, answer, error = self.rehearse(text, "--weights", "absent")
        self.assertEqual(status, 0, error)
        self.assertIn("loaded model ['config.json', 'model.safetensors.index.json'] cuda:0", error)
        self.assertTrue(any("model has no weights" in note for note in answer["notes"]), answer["notes"])
        self.assertEqual(self.rehearse(text)[0], 1)


if __name__ == "__main__":
    unittest.main()
