"""Every script answers --help with the text at its head, and does nothing else."""
import os
import pathlib
import subprocess
import unittest

SCRIPTS = pathlib.Path(__file__).resolve().parents[2] / "scripts"
# What these import first is not where tests run.
NEED_MORE = {"host_times", "make_samples_pytorch.py", "make_training_reference.py", "picture_difference.py",
             "torch_memory_check", "torch_train"}


class Help(unittest.TestCase):
    def test_every_script_has_it(self):
        scripts = [path for path in sorted(SCRIPTS.iterdir()) if path.is_file() and os.access(path, os.X_OK)]
        self.assertGreater(len(scripts), 20)
        for script in scripts:
            if script.name in NEED_MORE:
                continue
            with self.subTest(script=script.name):
                run = subprocess.run([script, "--help"], cwd="/", text=True, capture_output=True, timeout=60,
                                     stdin=subprocess.DEVNULL, env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"})
                self.assertEqual((run.returncode, run.stderr), (0, ""))
                self.assertGreater(len(run.stdout.split()), 10)


if __name__ == "__main__":
    unittest.main()
