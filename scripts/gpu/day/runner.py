"""Runs the steps of a stage: each within the time that it, its stage and the whole call have left, and ended for
good when that is over. What a step prints is kept in STAGE/NAME.log."""
import dataclasses
import os
import signal
import subprocess
import time

PASSED, FAILED, TOO_LONG, CUT = "passed", "failed", "too long", "cut by the end of the call"


@dataclasses.dataclass(frozen=True)
class Step:
    name: str
    command: list
    seconds: float = 60
    variables: dict = dataclasses.field(default_factory=dict)


@dataclasses.dataclass(frozen=True)
class Outcome:
    verdict: str
    seconds: float = 0.0
    exit_status: int | None = None

    def text(self):
        status = "" if self.exit_status in (0, None) else f", exit status {self.exit_status}"
        return f"{self.verdict} in {self.seconds:.1f} s{status}"


class Runner:
    """`seconds`: of the whole call. `grace`: from the interrupt that ends a step to the kill. `most`: of any step."""

    def __init__(self, seconds, environment, grace=15.0, most=float("inf")):
        self.until = time.monotonic() + seconds
        self.grace = grace
        self.most = most
        self.environment = environment

    def left(self):
        return self.until - time.monotonic()

    def run(self, step, log, stage_until):
        start = time.monotonic()
        limit = min(step.seconds, self.most, stage_until - start)
        is_cut = self.left() < limit
        limit = min(limit, self.left())
        if limit < 1:
            return Outcome(CUT if is_cut else TOO_LONG)
        with open(log, "wb") as output:
            try:
                process = subprocess.Popen(step.command, stdout=output, stderr=subprocess.STDOUT,
                                           stdin=subprocess.DEVNULL, start_new_session=True,
                                           env={**os.environ, **self.environment, **step.variables})
            except OSError as error:
                output.write(f"{step.command[0]}: {error}\n".encode())
                return Outcome(FAILED)
            try:
                status = process.wait(limit)
            except subprocess.TimeoutExpired:
                status = None
            finally:
                self.end(process)
        seconds = time.monotonic() - start
        if status is None:
            return Outcome(CUT if is_cut else TOO_LONG, seconds)
        return Outcome(FAILED if status else PASSED, seconds, status)

    def end(self, process):
        """The process and all that it started. One inside the driver may not even be killed: it is left behind."""
        if process.poll() is None:
            signal_group(process, signal.SIGINT)
            wait(process, self.grace)
        signal_group(process, signal.SIGKILL)
        wait(process, 5)


def signal_group(process, number):
    try:
        os.killpg(process.pid, number)
    except ProcessLookupError:
        pass


def wait(process, seconds):
    try:
        process.wait(seconds)
    except subprocess.TimeoutExpired:
        pass
