"""What scripts share that compare predictions with measurements: running `foreshard predict`, and
printing tables as text or Markdown. FORESHARD_BUILD names the build folder, build/release unless
set."""
import argparse
import concurrent.futures
import json
import os
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
PROGRAM = pathlib.Path(os.environ.get("FORESHARD_BUILD", ROOT / "build/release")) / "bin/foreshard"
TIMEOUT_S = 120


def fail(message):
    """Ends the script as the program itself ends on bad input."""
    print(f"{os.path.basename(sys.argv[0])}: error: {message}", file=sys.stderr)
    sys.exit(2)


def percent(share, decimals=1, is_signed=False):
    """A fraction as reports of `foreshard` write it: "4.5 %", "+4.5 %"."""
    return f"{100 * share:{'+' if is_signed else ''}.{decimals}f} %"


def folder_of(given, default, needed):
    """The folder that was given, or the default of the repository; it must hold the file `needed`."""
    folder = pathlib.Path(given) if given else ROOT / default
    if not (folder / needed).exists():
        fail(f"{folder}: has no {needed}; expected a folder such as {default}")
    return folder


def job_of(row, root):
    """The machine, and the other arguments of `foreshard predict`, of a line of index.csv."""
    machine = root / row["machine"] if ":" in row["machine"] else row["machine"]
    model = root / row["model"] if "/" in row["model"] else row["model"]
    return [machine, "--model", model, "--plan", root / row["plan"], "--ranks", row["ranks"],
            "--nodes", row["nodes"]]


def predict(*arguments):
    """The result of `foreshard predict`, and why there is none."""
    command = list(map(str, [PROGRAM, "predict", *arguments, "--json", "-"]))
    try:
        run = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT_S)
    except subprocess.TimeoutExpired:
        return None, f"no result within {TIMEOUT_S} s"
    except FileNotFoundError:
        fail(f"{PROGRAM}: is missing; expected a build (scripts/test)")
    if run.returncode != 0:
        lines = run.stderr.strip().splitlines()
        return None, lines[-1] if lines else f"exit status {run.returncode}"
    return json.loads(run.stdout), ""


def predict_all(jobs):
    """The predictions of many lists of arguments, in their order; all cores are used."""
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        yield from pool.map(lambda arguments: predict(*arguments), jobs)


def parser_of(usage):
    """A parser whose help is the script's head."""
    return argparse.ArgumentParser(
        description=usage, formatter_class=argparse.RawDescriptionHelpFormatter)


def print_table(heading, rows, is_markdown):
    """The first column is text, the others are aligned right."""
    cells = [[str(cell) for cell in row] for row in [heading, *rows]]
    widths = [max(len(row[i]) for row in cells) for i in range(len(heading))]
    for number, row in enumerate(cells):
        line = [row[0].ljust(widths[0])] + [c.rjust(w) for c, w in zip(row[1:], widths[1:])]
        print("| " + " | ".join(line) + " |" if is_markdown else "  ".join(line).rstrip())
        if is_markdown and number == 0:
            print("|---|" + "---:|" * (len(row) - 1))
