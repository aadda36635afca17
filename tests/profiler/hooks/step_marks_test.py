"""The steps that `foreshard profile` marks, in an interpreter whose PyTorch is a stand-in."""

import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

HOOKS = pathlib.Path(__file__).resolve().parents[3] / "profiler/hooks"

# A PyTorch of which optimizers, CUDA graphs and NVTX are there; it prints the ranges of NVTX.
PYTORCH = {
    "__init__.py": "from torch import _C, cuda, optim\n",
    "_C.py": "_nvtx = None\n",
    "cuda/__init__.py": "from torch.cuda import graphs, nvtx\ndef is_initialized(): return True\n",
    "cuda/graphs.py": """
class CUDAGraph:
    def capture_begin(self): pass
    def capture_end(self): pass
    def replay(self): pass
""",
    "cuda/nvtx.py": """
def range_start(name): print("start", name); return name
def range_end(name): print("end", name)
""",
    "optim/__init__.py": "from torch.optim.optimizer import Optimizer\n",
    "optim/optimizer.py": """
_hooks = []
def register_optimizer_step_post_hook(hook): _hooks.append(hook)
class Parameter: pass
class Optimizer:
    def __init__(self): self.param_groups = [{"params": [Parameter()]}]
    def step(self):
        for hook in _hooks: hook(self, (), {})
""",
}
OPTIMIZER = "from torch.optim import Optimizer\n"


class StepMarks(unittest.TestCase):
    def run_script(self, text, own_site="", **files):
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            for path, content in {**PYTORCH, **files}.items():
                (folder / "torch" / path).parent.mkdir(parents=True, exist_ok=True)
                (folder / "torch" / path).write_text(content)
            (folder / "sitecustomize.py").write_text(own_site)
            done = subprocess.run(
                [sys.executable, "-B", "-c", text],
                env=dict(os.environ, PYTHONPATH=f"{HOOKS}{os.pathsep}{folder}", FORESHARD_PROFILE=name),
                capture_output=True,
                text=True,
                timeout=60,
            )
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return done.stdout.splitlines()

    def test_a_range_lasts_from_the_end_of_a_step_to_that_of_the_next(self):
        out = self.run_script(
            OPTIMIZER + "first, second = Optimizer(), Optimizer()\n"
            "for step in range(3): first.step(); second.step(); print('stepped')"
        )
        self.assertEqual(
            out,
            ["start foreshard step 2", "stepped"]
            + ["end foreshard step 2", "start foreshard step 3", "stepped"]
            + ["end foreshard step 3", "start foreshard step 4", "stepped"],
        )

    def test_an_optimizer_that_is_gone_leaves_its_place_to_the_next(self):
        out = self.run_script(
            OPTIMIZER + "first, second = Optimizer(), Optimizer()\nfirst.step(); del first; second.step()"
        )
        self.assertEqual(out[1:], ["end foreshard step 2", "start foreshard step 3"])

    def test_a_step_within_a_cuda_graph_is_one_whenever_that_is_launched(self):
        out = self.run_script(
            OPTIMIZER + "from torch.cuda.graphs import CUDAGraph\n"
            "graph, other, optimizer = CUDAGraph(), CUDAGraph(), Optimizer()\n"
            "graph.capture_begin(); optimizer.step(); graph.capture_end(); print('captured')\n"
            "graph.replay(); other.replay(); graph.replay()"
        )
        self.assertEqual(out, ["captured", "start foreshard step 2", "end foreshard step 2", "start foreshard step 3"])

    def test_the_users_own_sitecustomize_runs(self):
        out = self.run_script(
            f"import builtins, sys; print(builtins.own, {str(HOOKS)!r} in sys.path)",
            own_site="import builtins; builtins.own = 'own'",
        )
        self.assertEqual(out, ["own False"])

    def test_a_pytorch_without_hooks_or_nvtx_has_no_steps(self):
        script = OPTIMIZER + "Optimizer().step(); print('stepped')"
        old = "class Optimizer:\n    def step(self): pass\n"
        self.assertEqual(self.run_script(script, **{"optim/optimizer.py": old}), ["stepped"])
        self.assertEqual(self.run_script(script, **{"_C.py": ""}), ["stepped"])


if __name__ == "__main__":
    unittest.main()
