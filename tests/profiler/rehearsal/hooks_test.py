"""Parts of the hooks that need no PyTorch."""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import types
import unittest

HOOKS = pathlib.Path(__file__).resolve().parents[3] / "profiler/hooks"
sys.path.insert(0, str(HOOKS))
os.environ["FORESHARD_REHEARSAL_RANKS"] = "8"

from foreshard_hooks import imports  # noqa: E402
from foreshard_rehearsal import kinds, routing, store, user_code  # noqa: E402


class Store:
    pass


class AStore(unittest.TestCase):
    def setUp(self):
        module = types.SimpleNamespace(Store=Store, default_pg_timeout=None)
        self.store = store.make(module)

    def test_other_ranks_say_what_this_one_says(self):
        self.store.set("group/0", "mine")
        self.assertEqual(self.store.get("group/0"), b"mine")
        self.assertEqual(self.store.get("group/7"), b"mine")

    def test_what_nobody_said_is_long_enough_for_an_identifier(self):
        self.assertEqual(len(self.store.get("other/1")), 128)

    def test_counters_have_been_counted_up_by_all_ranks(self):
        self.assertEqual(self.store.add("barrier", 1), 8)
        self.assertEqual(self.store.add("barrier", 0), 1)

    def test_only_what_was_written_is_known(self):
        self.store.set("group/0", b"")
        self.assertTrue(self.store.check(["group/0"]))
        self.assertFalse(self.store.check(["group/0", "group/1"]))
        self.assertTrue(self.store.delete_key("group/0"))
        self.assertFalse(self.store.delete_key("group/0"))

    def test_a_value_is_set_once_by_comparison(self):
        self.assertEqual(self.store.compare_set("key", "", "first"), b"first")
        self.assertEqual(self.store.compare_set("key", "", "second"), b"first")


class Imports(unittest.TestCase):
    def test_a_function_is_called_once_after_its_module(self):
        called = []
        imports.after("colorsys", called.append)
        self.assertEqual(called, [])
        import colorsys

        self.assertEqual(called, [colorsys])
        imports.after("colorsys", called.append)
        self.assertEqual(called, [colorsys, colorsys])

    def test_a_replacement_bears_the_name_of_what_it_replaces(self):
        module = types.SimpleNamespace()

        def greet():
            """Greets."""
            return "hello"

        module.greet = greet
        imports.replace(module, "greet", lambda original: lambda: original() + "!")
        self.assertEqual(module.greet(), "hello!")
        self.assertEqual((module.greet.__name__, module.greet.__doc__), ("greet", "Greets."))
        imports.replace(module, "absent", lambda original: original)
        self.assertFalse(hasattr(module, "absent"))


class UserCode(unittest.TestCase):
    def test_the_line_is_the_users_and_not_the_librarys(self):
        lines = []
        sorted([1], key=lambda _: lines.append(user_code.line()))
        self.assertTrue(lines[0].startswith(f"{__file__}:"), lines)

        json.dumps([object()], default=lambda _: lines.append(user_code.line()))
        self.assertTrue(lines[1].startswith(f"{__file__}:"), lines)


class Kinds(unittest.TestCase):
    def test_a_dimension_is_cut_into_equal_pieces_and_what_is_left(self):
        self.assertEqual([kinds.piece(13, 4, rank) for rank in range(4)], [4, 4, 4, 1])
        self.assertEqual([kinds.piece(5, 4, rank) for rank in range(4)], [2, 2, 1, 0])
        self.assertEqual([kinds.piece(8, 4, rank) for rank in range(4)], [2, 2, 2, 2])

    def test_one_rank_of_each_kind_is_named(self):
        def parameter(shape, placements, mesh_shape):
            ranks = types.SimpleNamespace(shape=mesh_shape)
            ranks.flatten = lambda: types.SimpleNamespace(tolist=lambda: list(range(8)))
            return types.SimpleNamespace(
                shape=shape,
                device_mesh=types.SimpleNamespace(mesh=ranks),
                placements=[
                    types.SimpleNamespace(dim=dim, is_shard=lambda dim=dim: dim is not None)
                    for dim in placements
                ],
            )

        self.addCleanup(kinds._meshes.clear)
        kinds._add(parameter((16, 3), (0,), (8,)))
        self.assertEqual(kinds.representatives(), [0])
        kinds._add(parameter((13, 3), (0,), (8,)))  # 2 to each, then 1, then none
        self.assertEqual(kinds.representatives(), [0, 6, 7])
        kinds._meshes.clear()
        kinds._add(parameter((3, 16), (None, 0), (2, 4)))  # two replicas of 1, 1, 1, 0
        self.assertEqual(kinds.representatives(), [0, 7])


class Routers(unittest.TestCase):
    def test_every_expert_has_as_many_tokens(self):
        self.assertEqual(routing.shares(60, 2, 4, 0.0), [30, 30, 30, 30])
        self.assertEqual(routing.shares(5, 1, 4, 0.0), [1, 1, 2, 1])

    def test_shares_follow_the_law_as_far_as_there_are_tokens(self):
        self.assertEqual(routing.shares(60, 2, 4, 1.0), [58, 29, 19, 14])
        self.assertEqual(routing.shares(10, 4, 5, 2.0), [10, 10, 10, 6, 4])

    def test_all_tokens_are_given_out(self):
        for tokens, each, experts, exponent in ((7, 3, 3, 9.0), (1, 1, 64, 1.0), (4096, 8, 128, 1.2)):
            counts = routing.shares(tokens, each, experts, exponent)
            self.assertEqual(sum(counts), tokens * each)
            self.assertLessEqual(max(counts), tokens)
            self.assertGreaterEqual(min(counts), 0)


class AnInterpreter(unittest.TestCase):
    """What a script sees of the hooks, in an interpreter whose PyTorch is a stand-in."""

    def run_script(self, text, version=None, own_site=None, launcher=None, **variables):
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            (folder / "own").mkdir()
            if own_site is not None:
                (folder / "own/sitecustomize.py").write_text(own_site)
            if version is not None:
                (folder / "own/torch").mkdir()
                (folder / "own/torch/__init__.py").write_text("")
                (folder / "own/torch/version.py").write_text(version)
            if launcher is not None:
                (folder / "own/deepspeed/launcher").mkdir(parents=True)
                (folder / "own/deepspeed/launcher/launch.py").write_text(launcher)
            (folder / "script.py").write_text(text)
            environment = dict(
                os.environ,
                PYTHONPATH=f"{HOOKS}{os.pathsep}{folder / 'own'}",
                FORESHARD_REHEARSAL_RECORD=str(folder / "record"),
                **variables,
            )
            script = ["-m", "deepspeed.launcher.launch"] if launcher else []
            done = subprocess.run(
                [sys.executable, "-B", *script, str(folder / "script.py")],
                env=environment,
                capture_output=True,
                text=True,
                timeout=60,
            )
            record = folder / "record"
            return done, json.loads(record.read_text()) if record.exists() else None

    def test_the_users_own_sitecustomize_runs(self):
        done, record = self.run_script(
            "import builtins, sys; print(builtins.own, [p for p in sys.path if 'profiler/hooks' in p])",
            own_site="import builtins; builtins.own = 'own'",
        )
        self.assertEqual((done.stdout, done.stderr), ("own []\n", ""))
        self.assertTrue(record["has_ended"])
        self.assertIsNone(record["torch"])

    def test_a_pytorch_for_cpus_is_refused_in_one_sentence(self):
        done, record = self.run_script("", version="__version__ = '9.9'\ncuda = None\n")
        self.assertEqual((done.returncode, done.stderr), (2, ""))
        self.assertIn("torch 9.9 is a build for CPUs; expected ", record["refused"])

    def test_a_release_that_was_not_compared_is_refused_in_one_sentence(self):
        for version in ("2.5.1+cu121", "2.16.0.dev20260901+cu132", "3.0.0", "unknown"):
            done, record = self.run_script("", version=f"__version__ = '{version}'\ncuda = '13.2'\n")
            self.assertEqual((done.returncode, done.stderr), (2, ""))
            self.assertIn(f"torch {version} is not a release that can be rehearsed", record["refused"])
            self.assertIn("; expected PyTorch 2.6 to 2.15", record["refused"])
        for version in ("2.6.0+cu124", "2.15.1"):
            done, record = self.run_script("", version=f"__version__ = '{version}'\ncuda = '12.4'\n")
            self.assertEqual((done.returncode, record["has_ended"]), (0, True))

    def test_the_drivers_allocator_is_refused_in_one_sentence(self):
        os.environ["PYTORCH_CUDA_ALLOC_CONF"] = "backend:cudaMallocAsync"
        self.addCleanup(os.environ.pop, "PYTORCH_CUDA_ALLOC_CONF")
        done, record = self.run_script("", version="__version__ = '2.11.0'\ncuda = '13.0'\n")
        self.assertEqual((done.returncode, done.stderr), (2, ""))
        self.assertIn("PYTORCH_CUDA_ALLOC_CONF: backend:cudaMallocAsync leaves", record["refused"])

    def test_processes_that_the_script_starts_are_not_hooked(self):
        done, record = self.run_script(
            "import subprocess, sys; subprocess.run([sys.executable, '-c', "
            "'import sys; print(\"foreshard_rehearsal.record\" in sys.modules)'])"
        )
        self.assertEqual(done.stdout, "False\n")
        self.assertTrue(record["has_ended"])

    LAUNCHER = """import os, subprocess, sys
for rank in range(8):
    subprocess.Popen([sys.executable, sys.argv[1], "--local_rank", str(rank)],
                     env=dict(os.environ, RANK=str(rank), WORLD_SIZE="8"))
"""

    def test_a_launchers_process_becomes_the_rank_that_is_asked_for(self):
        done, record = self.run_script(
            "import os, sys; print(os.environ['RANK'], sys.argv[1:], 'record' in str(sys.modules))",
            launcher=self.LAUNCHER,
            FORESHARD_REHEARSAL_RANK="5",
        )
        self.assertEqual((done.stdout, done.stderr), ("5 ['--local_rank', '5'] True\n", ""))
        self.assertEqual(record["ranks"], 8)

    def test_a_launcher_with_another_number_of_ranks_is_refused(self):
        done, record = self.run_script("", launcher=self.LAUNCHER, FORESHARD_REHEARSAL_RANKS="4")
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        self.assertIn("--ranks: 4 is not the launcher's number of ranks; expected 8", record["refused"])


if __name__ == "__main__":
    unittest.main()
