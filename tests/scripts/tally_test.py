"""scripts/tally.bash: what the sum says of parts that pass, fail, end without a line, are left out."""
import os
import pathlib
import subprocess
import unittest

TALLY = pathlib.Path(__file__).resolve().parents[2] / "scripts" / "tally.bash"


def tallied(parts, limit=""):
    """The last line and the exit status of a script with these calls of tally."""
    script = f'source "{TALLY}"\n' + "\n".join(f"tally {part}" for part in parts) + "\ntally_report\n"
    done = subprocess.run(["bash", "-c", script], text=True, capture_output=True,
                          env={**os.environ, "FORESHARD_TIME_LIMIT": limit})
    return done.stdout.splitlines()[-1], done.returncode


class Tally(unittest.TestCase):
    def test_adds_up(self):
        self.assertEqual(tallied(['a echo "2 passed, 0 failed"', 'b echo "3 passed, 0 failed"']),
                         ("5 passed, 0 failed", 0))

    def test_a_failure_shows_in_line_and_status(self):
        self.assertEqual(tallied(['a bash -c "echo 2 passed, 1 failed; exit 1"']), ("2 passed, 1 failed", 1))

    def test_a_part_without_a_line_is_a_failure(self):
        self.assertEqual(tallied(["a true"]), ("0 passed, 1 failed", 1))

    def test_a_status_that_the_line_does_not_explain_is_a_failure(self):
        self.assertEqual(tallied(['a bash -c "echo 2 passed, 0 failed; exit 1"']), ("2 passed, 1 failed", 1))

    def test_a_part_left_out_for_time_shows_in_line_and_status(self):
        self.assertEqual(tallied(['a echo "2 passed, 0 failed"', '--if-time b echo "3 passed, 0 failed"'], "0"),
                         ("2 passed, 0 failed, 1 left out", 1))

    def test_what_a_part_left_out_is_left_out_of_the_sum(self):
        self.assertEqual(tallied(['a bash -c "echo 2 passed, 0 failed, 3 left out; exit 1"']),
                         ("2 passed, 0 failed, 3 left out", 1))

    def test_only_parts_that_may_be_left_out_are(self):
        self.assertEqual(tallied(['a echo "2 passed, 0 failed"'], "0"), ("2 passed, 0 failed", 0))

    def test_with_time_nothing_is_left_out(self):
        self.assertEqual(tallied(['--if-time a echo "2 passed, 0 failed"'], "100"), ("2 passed, 0 failed", 0))


if __name__ == "__main__":
    unittest.main()
