"""Small scripts through `foreshard rehearse`; without what they need (needs.py) every test is skipped, by
name."""

import json
import pathlib
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


@unittest.skipIf(MISSING, MISSING)
class Rehearsal(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def rehearse(self, text, *options):
        """(exit status, answer or None, standard error)"""
        (self.folder / "script.py").write_text(text)
        command = [PROGRAM, "rehearse", "--json", "-", "-o", "run.fst", *options]
        done = subprocess.run(
            [*command, "--", PYTHON, "script.py"],
            cwd=self.folder,
            capture_output=True,
            text=True,
            timeout=120,
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

    def test_integers_from_the_host_are_known(self):
        status, answer, error = self.rehearse(
            MODEL.format(
                "n = torch.tensor([0, 3, 0, 4]).cuda(); print('got', x[:4][n != 0].shape[0], "
                "int(n.sum()), n.tolist(), len(torch.unique(n)), torch.equal(n, n))"
            )
        )
        self.assertEqual((status, answer["invented"]), (0, []), error)
        self.assertIn("got 2 7 [0, 3, 0, 4] 3 True", error)

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

    def test_what_is_left_out_is_noted(self):
        text = MODEL.format(
            "torch.save({'w': torch.empty(8 << 20)}, 'w.pt'); torch.empty(1 << 20).normal_()"
        )
        status, answer, error = self.rehearse(text)
        self.assertEqual(status, 0, error)
        self.assertIn("torch.save of large tensors wrote nothing", answer["notes"])
        self.assertFalse((self.folder / "w.pt").exists())
        self.assertIn("large tensors on the host were not filled with random numbers", answer["notes"])


if __name__ == "__main__":
    unittest.main()
