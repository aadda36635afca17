#!/usr/bin/env python3
"""Makes tests/golden/hta.json: what Holistic Trace Analysis finds in Kineto recordings.

    scripts/make_hta_golden.py FOLDER
    scripts/make_hta_golden.py traces/samples --out tests/golden/hta_samples.json

FOLDER holds recordings (*.json.gz), each of one rank. For every file that Holistic Trace Analysis
(PyPI: HolisticTraceAnalysis) can read, its temporal breakdown in microseconds and its overlap of
communication and computation in per cent are written under the file's path in FOLDER. The tests
compare our own analysis with them.
"""
import argparse
import gzip
import json
import logging
import os
import pathlib
import sys
import tempfile

GOLDEN = pathlib.Path(__file__).resolve().parents[1] / "tests" / "golden" / "hta.json"


def figures(path):
    os.environ["HTA_DISABLE_NS_ROUNDING"] = "1"  # its figures are whole microseconds otherwise
    from hta.trace_analysis import TraceAnalysis
    with tempfile.TemporaryDirectory() as folder:
        work = pathlib.Path(folder) / "trace.json.gz"
        with gzip.open(path, "rt", errors="replace") as file:
            trace = json.load(file, strict=False)
        # Waits of a stream are no work, but count as computation there because they have a stream;
        # and an operator that is launched outside of every profiler step would be left out.
        trace["traceEvents"] = [event for event in trace["traceEvents"]
                                if event.get("cat") != "cuda_sync"
                                and not str(event.get("name", "")).startswith("ProfilerStep")]
        with gzip.open(work, "wt") as file:
            json.dump(trace, file)
        analysis = TraceAnalysis(trace_files={0: str(work)}, trace_dir=folder)
        breakdown = analysis.get_temporal_breakdown(visualize=False).iloc[0]
        try:
            overlap = float(analysis.get_comm_comp_overlap(visualize=False).iloc[0, 1])
        except Exception:  # without communication there is nothing to divide by
            overlap = None
    return {"idle_us": float(breakdown["idle_time(us)"]),
            "compute_us": float(breakdown["compute_time(us)"]),
            "non_compute_us": float(breakdown["non_compute_time(us)"]),
            "span_us": float(breakdown["kernel_time(us)"]),
            "overlap_percent": overlap if overlap == overlap else None}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("folder", type=pathlib.Path, help="recordings, *.json.gz, at any depth")
    parser.add_argument("--out", type=pathlib.Path, default=GOLDEN, help="file to write")
    arguments = parser.parse_args()
    folder, out = arguments.folder, arguments.out
    logging.disable(logging.CRITICAL)
    golden = {}
    for path in sorted(folder.rglob("*.json.gz")):
        name = str(path.relative_to(folder))
        try:
            golden[name] = figures(path)
        except Exception as error:
            print(f"{name}: left out, {type(error).__name__}: {error}", file=sys.stderr)
    out.write_text(json.dumps(golden, indent=1, sort_keys=True) + "\n")
    print(f"{len(golden)} recordings in {out}")


if __name__ == "__main__":
    main()
