#!/usr/bin/env python3
"""All cases of cases.json (and cuDNN variants of some) on the GPU of this machine, as many at once as fit into its memory.
Usage: memory_peaks.py REFERENCE OUT SECONDS [BUDGET_GIB [JOBS [FILTER]]]
REFERENCE: the folder of make_memory_reference.py, with its cases, configs and llama.py."""
import csv, json, os, re, select, sys, time
REFERENCE = os.path.abspath(sys.argv.pop(1))
out, seconds = sys.argv[1], float(sys.argv[2])
budget = float(sys.argv[3]) * 2**30 if len(sys.argv) > 3 else 70 * 2**30
jobs = int(sys.argv[4]) if len(sys.argv) > 4 else 14
only = sys.argv[5] if len(sys.argv) > 5 else "."
null = "--null" in sys.argv
sys.argv = [sys.argv[0]] + ([] if null else ["--real"])
os.environ.update(OMP_NUM_THREADS="1", TOKENIZERS_PARALLELISM="false", HF_HUB_OFFLINE="1")
sys.path.insert(0, REFERENCE)
import make_memory_reference as M
import torch, torch.distributed.fsdp, transformers
from transformers import LlamaForCausalLM
start = time.time()
cases = json.load(open(os.path.join(REFERENCE, "cases.json")))
expected = {}
for r in csv.DictReader(open(os.path.join(REFERENCE, "peaks.csv"))):
    expected[r["id"]] = max(expected.get(r["id"], 0), int(r["peak_reserved"]))
extra = []
for c in cases:
    f = M.full(c)
    if f["sdpa"] == "flash" and f["precision"] != "fp32" and (c["id"].startswith(("ev", "1b_", "8bs_base", "mix")) or c["id"] in ("8b_base", "8b_hf", "8b_ac_full", "8b_repeat_kv", "w1_1b", "w1_1b_hf")):
        x = dict(c, id=c["id"] + "_cudnn", sdpa="cudnn")
        expected[x["id"]] = expected.get(c["id"], 0) + 2**29
        extra.append(x)
cases = [c for c in cases + extra if re.search(only, c["id"])]
# what tells most comes first: event logs, then cudnn, then the smaller ones
def rank(c):
    big = expected.get(c["id"], 2**34)
    return (not c["id"].startswith("ev"), "cudnn" in c["id"] and not c["id"].startswith("ev"), big)
cases.sort(key=rank)
os.makedirs(os.path.join(out, "events"), exist_ok=True)
CONTEXT = 700 * 2**20
running, todo, rows, failed, skipped = {}, list(cases), [], [], []
def launch(c):
    r, w = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(r)
        t = time.time()
        try:
            a = M.do_case(c, out)
        except BaseException as e:
            a = dict(error=repr(e))
        with os.fdopen(w, "w") as f:
            json.dump(dict(a, seconds=time.time() - t), f)
        os._exit(0)
    os.close(w)
    running[r] = (pid, c, [])
used = lambda: sum(expected.get(c["id"], 2**34) + CONTEXT for _, c, _ in running.values())
while running or (todo and time.time() - start < seconds):
    if time.time() - start < seconds:
        for c in list(todo):
            need = expected.get(c["id"], 2**34) + CONTEXT
            if need > budget + 4 * 2**30:
                skipped.append(c["id"]); todo.remove(c); continue
            if len(running) < jobs and (not running or used() + need <= budget):
                launch(c); todo.remove(c)
            elif len(running) >= jobs:
                break
    for r in select.select(list(running), [], [], 1)[0]:
        data = os.read(r, 1 << 20)
        pid, c, parts = running[r]
        if data:
            parts.append(data); continue
        os.close(r); os.waitpid(pid, 0); del running[r]
        a = json.loads(b"".join(parts) or b'{"error":"died"}')
        if "error" in a:
            failed.append(c["id"]); print(c["id"], "FAILED", a["error"].strip().splitlines()[-1][:300], flush=True); continue
        rows += a["ok"]
        print("%-30s %5.1fs %s" % (c["id"], a["seconds"], a.get("events", "")), flush=True)
        with open(os.path.join(out, "peaks_real.csv"), "w", newline="") as f:
            w = csv.DictWriter(f, M.COLUMNS, extrasaction="ignore", lineterminator="\n")
            w.writeheader(); w.writerows(rows)
print("%d rows, failed %s, not run %s, too large %s, %.0f s" % (len(rows), failed, [c["id"] for c in todo], skipped, time.time() - start))
