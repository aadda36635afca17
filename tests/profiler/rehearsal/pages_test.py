"""Rehearsals that README.md and docs/rehearsal.md show are what the program prints: each block of a `$ foreshard
rehearse` command is compared with its answer, or replaced by it where FORESHARD_GOLDEN_UPDATE is set. A last line
`...` leaves out what follows. Needs what needs.py names and the releases of scripts/rehearsal_requirements.txt."""

import os
import pathlib
import re
import subprocess
import tempfile
import unittest

import needs

ROOT = pathlib.Path(__file__).resolve().parents[3]
PAGES = [ROOT / "README.md", ROOT / "docs/rehearsal.md"]
BLOCK = re.compile(r"```\n\$ foreshard (rehearse [^\n]* -- python [^\n]*)\n(.*?)```\n", re.DOTALL)
CUT = "...\n"


def missing():
    if why := needs.missing():
        return why
    have = needs.versions()
    lines = (ROOT / "scripts/rehearsal_requirements.txt").read_text().splitlines()
    wanted = dict(line.split("==") for line in lines if not line.startswith("#"))
    lacking = [f"{k} {v}" for k, v in wanted.items() if have.get(k, "").split("+")[0] != v]
    return f"{needs.PYTHON} has other releases than {', '.join(lacking)}" if lacking else ""


MISSING = missing()


@unittest.skipIf(MISSING, MISSING)
class Pages(unittest.TestCase):
    maxDiff = None
    answers = {}  # by command, as pages may show the same one

    def answer(self, command):
        """What is printed on standard output after the script's own lines, without this machine's paths."""
        if command in self.answers:
            return self.answers[command]
        before, script = command.split(" -- python ")
        with tempfile.TemporaryDirectory() as folder:
            words = [f"{folder}/run.fst" if word.endswith(".fst") else word for word in before.split()]
            name, *arguments = script.split()
            done = subprocess.run(
                [needs.PROGRAM, *words, "--", needs.PYTHON, str(ROOT / name), *arguments],
                cwd=folder,
                capture_output=True,
                text=True,
            )
        self.assertEqual(done.returncode, 0, done.stderr)
        text = done.stdout.replace(f"{ROOT}/", "").replace(needs.PYTHON, "python")
        text = self.answers[command] = text[text.index(f"python {script}: PyTorch ") :]
        return text

    def test_pages_show_what_is_printed(self):
        for file in PAGES:
            page = file.read_text()
            found = list(BLOCK.finditer(page))
            self.assertTrue(found, file)
            for block in reversed(found):  # places before it stay where they are
                answer = self.answer(block[1])
                if block[2].endswith(CUT):
                    lines = block[2].count("\n") - 1
                    answer = "".join(answer.splitlines(keepends=True)[:lines]) + CUT
                if os.environ.get("FORESHARD_GOLDEN_UPDATE"):
                    page = page[: block.start(2)] + answer + page[block.end(2) :]
                    file.write_text(page)
                else:
                    self.assertEqual(block[2], answer, file)


if __name__ == "__main__":
    unittest.main()
