"""The day of scripts/gpu_day without a GPU: its machinery on stages of shell commands, and every stage on the emulated
device, where programs that only a GPU or PyTorch can run have stand-ins.

FORESHARD_BINARIES and FORESHARD_EMULATED_MODULES are folders of the build."""
import json
import os
import pathlib
import shutil
import stat
import subprocess
import sys
import tarfile
import tempfile
import unittest
import unittest.mock

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts/gpu/day"))
import goals  # noqa: E402
import stages  # noqa: E402
from archive import Archive, unpack  # noqa: E402
from day import Day, run  # noqa: E402
from runner import CUT, PASSED, Outcome, Runner, Step  # noqa: E402

BINARIES, MODULES = (pathlib.Path(os.environ[name]) for name in ("FORESHARD_BINARIES", "FORESHARD_EMULATED_MODULES"))
ALL_PASS = "#!/bin/sh\necho '[  PASSED  ] 3 tests.'\n"
# Runs what PyTorch would: scripts/gpu's, by what they leave.
PYTORCH = f"""#!{sys.executable}
import gzip, json, os, subprocess, sys
name, *arguments = sys.argv[1:]
if name.endswith("step_times.py"):
    os.makedirs(arguments[1], exist_ok=True)
    with open(arguments[1] + "/steps.jsonl", "w") as file:
        for case in ("1b_w1", "1b_w1_compile"):
            print(json.dumps(dict(id=case, steady_step_s=3600)), file=file)
if name.endswith("profiled_script.py"):
    subprocess.run(["{BINARIES}/profiled_program", "20"], check=True)
    kernel = dict(cat="kernel", name="compiled()", dur=3)
    with gzip.open(arguments[0], "wt") as file:
        json.dump(dict(traceEvents=[kernel] * 40), file)
"""
MODEL = dict(model_type="llama", hidden_size=16, intermediate_size=32, num_hidden_layers=2, num_attention_heads=2,
             num_key_value_heads=2, vocab_size=256, max_position_embeddings=64, rms_norm_eps=1e-5, rope_theta=1e4,
             tie_word_embeddings=False)


def write(path, text):
    path.write_text(text)
    path.chmod(path.stat().st_mode | stat.S_IXUSR)


class GpuDay(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.place = pathlib.Path(scratch.name)
        self.out, self.packed, self.path = (self.place / name for name in ("out", "packed", "path"))
        for folder in (self.packed / "pytorch", self.path):
            folder.mkdir(parents=True)
        (self.packed / "foreshard").symlink_to(BINARIES / "foreshard")
        (self.packed / "lib").mkdir()
        for module in MODULES.glob("lib*.so*"):
            # NVIDIA's own libraries may be in folders that come after this one.
            shutil.copy(module, self.packed / "lib" if module.name[-1].isdigit() else self.packed)
        for test in ("gpu_kernels_test", "gpu_agreement_test"):
            write(self.packed / test, ALL_PASS)
        (self.packed / "hooks").symlink_to(MODULES / "hooks")
        write(self.path / "nvidia-smi", "#!/bin/sh\necho NVIDIA H200\n")
        write(self.path / "compute-sanitizer", ALL_PASS)
        write(self.path / "pytorch", PYTORCH)
        (self.place / "config.json").write_text(json.dumps(MODEL))

    def day(self, *arguments):
        """Elsewhere, as nothing of it may depend on where it is called."""
        command = [sys.executable, ROOT / "scripts/gpu_day", *arguments, "--folder", "packed"]
        return subprocess.run(command, cwd=self.place, capture_output=True, text=True, timeout=220,
                              env={**os.environ, "PATH": f"{self.path}:{os.environ['PATH']}"})

    def run_day(self, *arguments):
        return self.day("run", "out", "--python", "pytorch", "--trial", "config.json", *arguments)

    @staticmethod
    def archive(out):
        return Archive(out / "gpu_day.tar.gz", out, 1e6)

    def archived(self, name):
        with tarfile.open(self.out / "gpu_day.tar.gz") as tar:
            return tar.extractfile(name).read().decode()

    def figures(self, stage):
        """{name: verdict}"""
        return {row["name"]: row["verdict"] for row in json.loads(self.archived("figures.json"))["figures"][stage]}

    def test_the_whole_day(self):
        done = self.run_day()
        page = self.archived("page.txt")
        self.assertTrue(done.stdout.endswith(page), done.stdout + done.stderr)
        for stage in ("libraries", "smoke", "kernels", "speed", "large", "memory", "equality", "calibrate", "agreement",
                      "profile", "nccl", "pytorch", "sanitizer"):
            self.assertEqual(self.figures(stage)["steps"], "reached", page)
        self.assertEqual(set(self.figures("memory").values()), {"reached"}, page)
        self.assertEqual(set(self.figures("equality").values()), {"reached"}, page)
        self.assertEqual(self.figures("speed")["step over torch.compile's"], "reached", page)
        self.assertEqual(self.figures("nccl")["collectives in the recording"], "reached", page)
        self.assertEqual(self.figures("smoke")["attention in bf16"], "MISSED", "there is no cuDNN here")
        self.assertEqual(self.figures("profile")["Kineto's kernel time found, %"], "reached", page)
        self.assertNotIn("MISSING", [verdict for stage in ("speed", "large", "profile")
                                     for verdict in self.figures(stage).values()], page)
        # Nothing was packed for it.
        self.assertEqual(self.figures("reference"), {"steps": "MISSING", "losses of PyTorch's cases": "MISSING"})
        self.assertEqual(done.returncode, 1)

    def test_exits_with_0_where_all_is_good(self):
        done = self.run_day("kernels", "agreement", "sanitizer")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn("0 missed, 0 missing", done.stdout)

    def test_stops_where_a_library_is_missing(self):
        module = self.packed / "libforeshard_cupti.so"
        module.write_bytes(module.read_bytes().replace(b"libhost_cupti.so", b"libhost_cuptj.so"))
        done = self.run_day()
        self.assertEqual(done.returncode, 1)
        self.assertIn("libforeshard_cupti.so: libhost_cuptj.so is not found", self.archived("libraries/found.log"))
        self.assertEqual(self.figures("libraries")["steps"], "MISSED")
        self.assertEqual(self.figures("smoke")["steps"], "MISSING")
        self.assertFalse((self.out / "smoke").exists())

    def test_kills_what_hangs_and_goes_on(self):
        write(self.packed / "gpu_kernels_test", "#!/bin/sh\ntrap '' INT\nsleep 600 & echo $! > $0.child; wait\n")
        done = self.run_day("kernels", "sanitizer", "--step-seconds", "1", "--grace", "0.3")
        self.assertEqual(done.returncode, 1)
        self.assertIn("0 of 2: not aligned, misaligned", done.stdout)
        self.assertEqual(self.figures("sanitizer")["steps"], "reached")
        child = (self.packed / "gpu_kernels_test.child").read_text().strip()
        state = pathlib.Path("/proc", child, "status")
        self.assertTrue(not state.exists() or "zombie" in state.read_text())

    def test_names_what_fails(self):
        write(self.packed / "gpu_kernels_test", "#!/bin/sh\necho '[  FAILED  ] 1 test'; exit 1\n")
        done = self.run_day("kernels")
        self.assertEqual(done.returncode, 1)
        self.assertIn("[  FAILED  ] 1 test", done.stdout)
        self.assertEqual(self.figures("kernels"), {"steps": "MISSED", "aligned": "MISSED", "misaligned": "MISSED"})

    def test_goes_on_where_the_time_was_over(self):
        steps = {"short": "true", "long": "sleep 600", "rest": "true"}
        table = {"one": stages.Stage(60, lambda day: [Step(name, ["sh", "-c", line]) for name, line in steps.items()])}
        with unittest.mock.patch.object(stages, "STAGES", table):
            first = Day(self.packed, self.out, ["true"])
            self.assertEqual(run(first, [], Runner(2, {}, 0), self.archive(self.out)), 1)
            self.assertEqual(first.verdicts("one"), {"short": PASSED, "long": CUT, "rest": CUT})
            steps.update(short="false", long="true")
            unpack(self.out / "gpu_day.tar.gz", self.place / "elsewhere")
            second = Day(self.packed, self.place / "elsewhere", ["true"])
            self.assertEqual(run(second, [], Runner(60, {}), self.archive(second.out)), 0)
            self.assertEqual(run(second, ["one"], Runner(60, {}), self.archive(second.out)), 1)

    def test_leaves_large_traces_out_of_the_archive_and_says_so(self):
        (self.out / "kernels").mkdir(parents=True)
        (self.out / "kernels/huge.fst").write_bytes(os.urandom(200_000))
        (self.out / "kernels/small.fst").write_bytes(os.urandom(2_000))
        done = self.run_day("kernels", "--archive-mb", "0.1", "--archive", "out/gpu_day.tar.gz")
        self.assertIn("left out of the archive: kernels/huge.fst (0.2 MB)", done.stdout)
        self.assertIn("left out of the archive: kernels/huge.fst (0.2 MB)", self.archived("page.txt"))
        with tarfile.open(self.out / "gpu_day.tar.gz") as tar:
            self.assertIn("kernels/small.fst", tar.getnames())

    def pack(self, cmake, *arguments):
        write(self.path / "cmake", "#!/bin/sh\n" + cmake)
        write(self.path / "strip", "#!/bin/sh\n")
        return self.day("pack", "--build", self.place / "build", *arguments)

    def test_packs_all_or_nothing(self):
        binaries = self.place / "build/bin"
        (binaries / "hooks").mkdir(parents=True)
        for name in ("foreshard", "gpu_kernels_test", "gpu_agreement_test"):
            shutil.copy(shutil.which("true"), binaries / name)
        for name in ("cuda", "cudnn", "cupti"):
            (binaries / f"libforeshard_{name}.so").write_text("module")
        missing = self.pack("exit 0\n")
        self.assertEqual(missing.returncode, 2)
        self.assertIn("libforeshard_injection.so is missing", missing.stderr)
        self.assertFalse(self.packed.exists(), "an old file could travel")
        (binaries / "libforeshard_injection.so").write_text("module")
        self.assertEqual(self.pack("exit 1\n").returncode, 2)
        too_large = self.pack("exit 0\n", "--limit-mb", "0.01")
        self.assertIn("MB is more than 0 MB", too_large.stderr)
        self.assertFalse(self.packed.exists())
        self.assertEqual(self.pack("exit 0\n").returncode, 0)
        for path in ("libforeshard_injection.so", "hooks"):
            self.assertTrue((self.packed / path).exists(), path)


class Goals(unittest.TestCase):
    """Figures from answers that are written here."""

    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.day = Day(pathlib.Path(scratch.name, "packed"), pathlib.Path(scratch.name, "out"), ["true"])

    def answer(self, stage, name, **fields):
        path = self.day.out / stage / f"{name}.json"
        path.parent.mkdir(exist_ok=True)
        path.write_text(json.dumps(fields))
        self.day.keep(stage, name, Outcome(PASSED))

    def figures(self, stage):
        """{name: (value, verdict)}"""
        return {row.name: (row.value, row.verdict) for row in goals.figures(self.day, stage)}

    def test_memory_names_each_run_that_differs_or_is_missing(self):
        for run in stages.MEMORY[1:]:
            self.answer("memory", f"{run.name}-predicted", steps_memory=[],
                        ranks_memory=[dict(rank=0, peak_allocated_bytes=4096, peak_reserved_bytes=8192)])
            off = 512 if run is stages.MEMORY[3] else 0
            self.answer("memory", run.name, steps_memory=[],
                        ranks_memory=[dict(rank=0, peak_allocated_bytes=4096, peak_reserved_bytes=8192 - off)])
        missing, differs = (f"{stages.MEMORY[n].name}: bytes" for n in (0, 3))
        found = self.figures("memory")
        self.assertEqual(found[missing], ("-", "MISSING"))
        self.assertEqual(found[differs], ("512", "MISSED"))
        count = len(stages.MEMORY)
        self.assertEqual(found["runs to the byte"], (f"{count - 2} of {count}", "MISSED"))

    def test_errors_of_predictions(self):
        runs = stages.predicted_runs(self.day)
        for number, (run, stage, name) in enumerate(runs):
            self.answer(stage, name, step_time_ns=1000)
            self.assertEqual(self.figures("calibrate")["worst error, %"], ("-", "MISSING"))
            self.answer("calibrate", f"{run.name}-predicted", step_time_ns=910 if number == 0 else 1000)
        found = self.figures("calibrate")
        self.assertEqual(found["worst error, %"], ("9.00", "MISSED"))
        self.assertEqual(found["mean error, %"], (f"{9 / len(runs):.2f}", "reached"))

    def test_an_answer_of_another_shape_is_a_missing_figure(self):
        for name in ("plain", "plain-predicted"):
            self.answer("large", name, mfu="fast", step_time_ns={"ns": 1})
        self.assertEqual(self.figures("large")["figures"][1], "MISSING")

    def test_mfu_is_of_the_measured_step(self):
        self.answer("large", "plain-predicted", mfu=0.44, step_time_ns=100)
        self.assertEqual(self.figures("large")["MFU, %"], ("-", "MISSING"))
        self.answer("large", "plain", step_time_ns=80)
        self.assertEqual(self.figures("large")["MFU, %"], ("55.0", "reached"))


if __name__ == "__main__":
    unittest.main()
