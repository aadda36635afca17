#!/usr/bin/env python3
"""Draws two steps of two FSDP ranks on GPUs, as torch.profiler and as Nsight Systems would have
written them: no such machine was there, so every time is made up. Its only library is Python's own.

    make_samples_drawn.py OUT     OUT/drawn_gpu/rank{0,1}.json.gz, OUT/drawn_gpu.sqlite
"""
import gzip
import json
import pathlib
import sqlite3

from prediction import parser_of

UNITS = ["", "layers.0", "layers.1"]  # the first is the root
TOKENS, HIDDEN, VOCABULARY = 1024, 512, 4096
PARAMETERS = {"": 2 * VOCABULARY * HIDDEN, "layers.0": 4 * HIDDEN * HIDDEN,
              "layers.1": 4 * HIDDEN * HIDDEN}
COMPUTE, GATHER, REDUCE = 7, 20, 24
RANKS, STEPS = 2, (3, 4)
MAIN, AUTOGRAD = 0, 1


def named(what, unit):
    return f"FSDP::{what} ({unit})" if unit else f"FSDP::{what}"


class Rank:
    """Draws one rank: a host clock, a clock of each stream, everything in nanoseconds."""

    def __init__(self, rank):
        self.rank, self.now, self.free = rank, 1_000_000 + 7_000 * rank, {}
        self.ranges, self.operators, self.calls, self.kernels, self.memory = [], [], [], [], []
        self.correlation, self.operator, self.held = 100 * (rank + 1), 0, 0
        self.blocks = {}

    def call(self, name, ns, thread, correlation=None):
        if correlation is None:
            self.correlation += 1
            correlation = self.correlation
        self.calls.append((name, self.now, ns, thread, correlation, self.operator))
        self.now += ns
        return correlation

    def launch(self, kernel, stream, ns, thread, after=0, call="cudaLaunchKernel", size=0):
        issued = self.now
        correlation = self.call(call, 4_000, thread)
        start = max(issued + 6_000, self.free.get(stream, 0), after)
        self.kernels.append((kernel, stream, start, ns, correlation, size, self.operator))
        self.free[stream] = start + ns
        return start + ns

    def range(self, name, thread, body):
        start = self.now
        self.now += 1_000
        result = body()
        self.now += 1_000
        self.ranges.append((name, start, self.now - start, thread))
        return result

    def op(self, name, thread, body, **arguments):
        self.operator += 1
        mine, start = self.operator, self.now
        self.now += 2_000
        result = body()
        self.now += 2_000
        self.operators.append((name, start, self.now - start, thread, mine, arguments))
        return result

    def allocate(self, key, size):
        self.blocks[key] = (0x7F0000000000 + (len(self.memory) << 21), size)
        self.held += size
        self.memory.append((self.now, self.blocks[key][0], size, self.held))

    def release(self, key):
        address, size = self.blocks.pop(key)
        self.held -= size
        self.memory.append((self.now, address, -size, self.held))

    def collective(self, name, kernel, unit, stream, ns, thread, after, elements):
        arguments = {"Collective name": name, "In msg nelems": elements[0],
                     "Out msg nelems": elements[1], "Group size": RANKS, "dtype": "BFloat16",
                     "Process Group Name": "0", "Rank": self.rank}
        # Rank 1 comes a little later to each; the kernels of both end together.
        return self.op("record_param_comms", thread,
                       lambda: self.launch(kernel, stream, ns - 7_000 * self.rank, thread, after,
                                           "cudaLaunchKernelExC"), **arguments)

    def gather(self, unit, thread, after=0):
        count = PARAMETERS[unit]
        self.allocate("gathered " + unit, 2 * count)
        return self.range(named("all_gather", unit), thread, lambda: self.collective(
            "_allgather_base", "ncclDevKernel_AllGather_RING_LL(ncclDevKernelArgsStorage<4096ul>)",
            unit, GATHER, 20_000 + count // 40, thread, after, (count // RANKS, count)))

    def product(self, thread, ns, rows, inner, columns, after=0):
        shapes = {"Input Dims": [[rows, inner], [inner, columns]],
                  "Input type": ["c10::BFloat16", "c10::BFloat16"],
                  "Input Strides": [[inner, 1], [1, inner]]}
        return self.op("aten::mm", thread, lambda: self.launch(
            f"nvjet_tst_128x{columns // 8}_64x5_TNT", COMPUTE, ns, thread, after), **shapes)

    def step(self, number):
        start = self.now
        ready = {"": self.gather("", MAIN)}
        self.allocate("tokens", 8 * TOKENS)
        self.op("aten::copy_", MAIN, lambda: self.launch("Memcpy HtoD (Pinned -> Device)", COMPUTE,
                                                         3_000, MAIN, call="cudaMemcpyAsync",
                                                         size=8 * TOKENS))
        self.op("aten::embedding", MAIN, lambda: self.launch(
            "void at::native::vectorized_gather_kernel<16, long>", COMPUTE, 9_000, MAIN, ready[""]))
        for unit in UNITS[1:]:
            ready[unit] = self.gather(unit, MAIN)
            self.allocate("activations " + unit, 12 * TOKENS * HIDDEN)
            self.range(named("pre_forward", unit), MAIN, lambda: None)
            for _ in range(4):
                self.product(MAIN, 31_000, TOKENS, HIDDEN, HIDDEN, ready[unit])
            self.range(named("post_forward", unit), MAIN, lambda: None)
            self.release("gathered " + unit)
        self.product(MAIN, 160_000, TOKENS, HIDDEN, VOCABULARY)
        self.allocate("logits", 4 * TOKENS * VOCABULARY)
        self.op("aten::_log_softmax", MAIN, lambda: self.launch(
            "void (anonymous namespace)::cunn_SoftMaxForward<8, float>", COMPUTE, 22_000, MAIN))
        self.release("tokens")
        for unit in reversed(UNITS):
            self.backward(unit, ready)
        self.release("gathered ")
        self.range("Optimizer.step#AdamW.step", MAIN, lambda: self.op(
            "aten::_fused_adamw_", MAIN, lambda: self.launch(
                "void at::native::multi_tensor_apply_kernel<FusedAdamMathFunctor>", COMPUTE, 48_000,
                MAIN, self.free[REDUCE])))
        call = self.now
        end = max(self.free.values()) + 3_000
        self.call("cudaDeviceSynchronize", max(end - call, 2_000), MAIN)
        self.now += 5_000
        self.ranges.append((f"ProfilerStep#{number}", start, self.now - start, MAIN))
        self.now += 500

    def backward(self, unit, ready):
        after = ready[unit]
        if unit:
            after = self.gather(unit, AUTOGRAD)
        self.range(named("pre_backward", unit), AUTOGRAD, lambda: None)
        ns, products = (31_000, 4) if unit else (160_000, 1)
        columns = HIDDEN if unit else VOCABULARY
        for _ in range(products):
            self.op("autograd::engine::evaluate_function: MmBackward0", AUTOGRAD, lambda: (
                self.product(AUTOGRAD, ns, HIDDEN, TOKENS, columns, after),
                self.product(AUTOGRAD, ns, TOKENS, columns, HIDDEN)))
        self.release("activations " + unit if unit else "logits")
        if unit:
            self.release("gathered " + unit)
        count = PARAMETERS[unit]
        self.allocate("gradients", 2 * count)
        done = self.free[COMPUTE]
        self.range(named("post_backward_reduce", unit), AUTOGRAD, lambda: self.collective(
            "_reduce_scatter_base",
            "ncclDevKernel_ReduceScatter_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)", unit,
            REDUCE, 26_000 + count // 30, AUTOGRAD, done, (count, count // RANKS)))
        self.release("gradients")


def us(ns):
    return ns / 1000


def kineto(rank):
    pid, events = 4200 + rank.rank, []

    def complete(category, name, start, ns, process, thread, **arguments):
        events.append({"ph": "X", "cat": category, "name": name, "pid": process, "tid": thread,
                       "ts": us(start), "dur": us(ns), "args": arguments})

    thread = {MAIN: pid, AUTOGRAD: pid + 50}
    for name, start, ns, where in rank.ranges:
        complete("user_annotation", name, start, ns, pid, thread[where])
    for name, start, ns, where, number, arguments in rank.operators:
        complete("cpu_op", name, start, ns, pid, thread[where],
                 **{"External id": number}, **arguments)
    for name, start, ns, where, correlation, number in rank.calls:
        complete("cuda_runtime", name, start, ns, pid, thread[where],
                 **{"External id": number, "correlation": correlation})
    for name, stream, start, ns, correlation, size, number in rank.kernels:
        more = {"bytes": size} if size else {}
        complete("gpu_memcpy" if size else "kernel", name, start, ns, rank.rank, stream,
                 **{"External id": number, "device": rank.rank, "stream": stream,
                    "correlation": correlation}, **more)
    for at, address, size, held in rank.memory:
        events.append({"ph": "i", "cat": "cpu_instant_event", "s": "t", "name": "[memory]",
                       "pid": pid, "tid": pid, "ts": us(at),
                       "args": {"Total Reserved": 64 << 20, "Total Allocated": held, "Bytes": size,
                                "Device Id": rank.rank, "Device Type": 1, "Addr": address}})
    events.sort(key=lambda event: event["ts"])
    events.append({"name": "process_name", "ph": "M", "ts": 0, "pid": pid, "tid": 0,
                   "args": {"name": "python"}})
    events.append({"name": "thread_name", "ph": "M", "ts": 0, "pid": pid, "tid": pid + 50,
                   "args": {"name": "thread 50 (pt_autograd_0)"}})
    trace = {"schemaVersion": 1,
             "deviceProperties": [{"id": rank.rank, "name": "drawn GPU"}],
             "distributedInfo": {"backend": "nccl", "rank": rank.rank, "world_size": RANKS},
             "baseTimeNanoseconds": 1_700_000_000_000_000_000, "traceEvents": events}
    return json.dumps(trace, separators=(",", ":"))


SCHEMA = """
CREATE TABLE META_DATA_EXPORT (name TEXT, value TEXT);
CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT);
CREATE TABLE PROCESSES (globalPid INTEGER, pid INTEGER, name TEXT);
CREATE TABLE ThreadNames (nameId INTEGER, priority INTEGER, globalTid INTEGER);
CREATE TABLE TARGET_INFO_GPU (id INTEGER, name TEXT);
CREATE TABLE NVTX_EVENTS (start INTEGER, "end" INTEGER, eventType INTEGER, text TEXT,
  globalTid INTEGER, textId INTEGER, domainId INTEGER);
CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INTEGER, "end" INTEGER, globalTid INTEGER,
  correlationId INTEGER, nameId INTEGER);
CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER, "end" INTEGER, deviceId INTEGER,
  contextId INTEGER, streamId INTEGER, correlationId INTEGER, globalPid INTEGER,
  demangledName INTEGER, shortName INTEGER);
CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY (start INTEGER, "end" INTEGER, deviceId INTEGER,
  contextId INTEGER, streamId INTEGER, correlationId INTEGER, globalPid INTEGER, bytes INTEGER,
  copyKind INTEGER, srcKind INTEGER, dstKind INTEGER);
CREATE TABLE TARGET_INFO_GPU_METRICS (typeId INTEGER, sourceId INTEGER, typeName TEXT,
  metricId INTEGER, metricName TEXT);
CREATE TABLE GPU_METRICS (rawTimestamp INTEGER, timestamp INTEGER, typeId INTEGER,
  metricId INTEGER, value INTEGER);
"""

METRICS = ("GPC Clock Frequency [MHz]", "SMs Active [Throughput %]",
           "NVLink RX Requests User Data [Throughput %]")
METRICS_TYPE = 1 << 48  # its lowest byte is the device's number
SAMPLING_NS = 20_000


def metrics(rank):
    """(time, number of the metric, value): shares of each sampling period."""
    kernels = [(start, start + ns, name) for name, _, start, ns, _, size, _ in rank.kernels
               if not size]
    def share(first, is_wanted):
        spans = [(max(start, first), min(end, first + SAMPLING_NS))
                 for start, end, name in kernels if is_wanted("nccl" in name)]
        return min(1, sum(max(end - start, 0) for start, end in spans) / SAMPLING_NS)
    begin, end = min(k[0] for k in kernels), max(k[1] for k in kernels)
    for first in range(begin - SAMPLING_NS, end, SAMPLING_NS):
        computes, communicates = share(first, lambda nccl: not nccl), share(first, bool)
        yield first, 0, round(1980 - 200 * computes)
        yield first, 1, round(95 * computes)
        yield first, 2, round(80 * communicates)


def nsys(ranks, path):
    path.unlink(missing_ok=True)
    database = sqlite3.connect(path)
    database.execute("PRAGMA page_size=1024")
    database.executescript(SCHEMA)
    strings = {}

    def text(value):
        return strings.setdefault(value, len(strings) + 1)

    def insert(table, *values):
        database.execute(f"INSERT INTO {table} VALUES ({','.join('?' * len(values))})", values)

    insert("META_DATA_EXPORT", "EXPORT_PRODUCT_NAME", "NVIDIA Nsight Systems")
    insert("META_DATA_EXPORT", "EXPORT_PRODUCT_VERSION", "2026.1")
    insert("META_DATA_EXPORT", "EXPORT_SCHEMA_VERSION", "3.24")
    for rank in ranks:
        pid = 4200 + rank.rank
        process, device = pid << 24, rank.rank
        thread = {MAIN: process + pid, AUTOGRAD: process + pid + 50}
        insert("PROCESSES", process, pid, "train.py")
        insert("TARGET_INFO_GPU", device, "drawn GPU")
        for number, name in enumerate(METRICS):
            insert("TARGET_INFO_GPU_METRICS", METRICS_TYPE + device, device,
                   "GPU Metrics [drawn GPU]", number, name)
        for time, number, value in metrics(rank):
            insert("GPU_METRICS", time, time, METRICS_TYPE + device, number, value)
        insert("ThreadNames", text("python"), 0, thread[MAIN])
        insert("ThreadNames", text("pt_autograd_0"), 0, thread[AUTOGRAD])
        for name, start, ns, where in rank.ranges:
            insert("NVTX_EVENTS", start, start + ns, 59, name, thread[where], None, 0)
        for name, start, ns, where, number, _ in rank.operators:
            insert("NVTX_EVENTS", start, start + ns, 59, f"{name}, op_id = {number}",
                   thread[where], None, 0)
        for name, start, ns, where, correlation, _ in rank.calls:
            insert("CUPTI_ACTIVITY_KIND_RUNTIME", start, start + ns, thread[where], correlation,
                   text(name + "_v7000"))
        for name, stream, start, ns, correlation, size, _ in rank.kernels:
            if size:
                insert("CUPTI_ACTIVITY_KIND_MEMCPY", start, start + ns, device, 1, stream,
                       correlation, process, size, 1, 1, 2)
            else:
                insert("CUPTI_ACTIVITY_KIND_KERNEL", start, start + ns, device, 1, stream,
                       correlation, process, text(name), text(name.split("(")[0]))
    for value, number in strings.items():
        insert("StringIds", number, value)
    database.commit()
    database.execute("VACUUM")
    database.close()


def main():
    parser = parser_of(__doc__)
    parser.add_argument("out", metavar="OUT", type=pathlib.Path)
    out = parser.parse_args().out
    ranks = [Rank(number) for number in range(RANKS)]
    for rank in ranks:
        for number in STEPS:
            rank.step(number)
    folder = out / "drawn_gpu"
    folder.mkdir(exist_ok=True)
    for rank in ranks:
        path = folder / f"rank{rank.rank}.json.gz"
        with open(path, "wb") as raw, gzip.GzipFile("", "wb", 9, raw, mtime=0) as file:
            file.write(kineto(rank).encode())
    nsys(ranks, out / "drawn_gpu.sqlite")


if __name__ == "__main__":
    main()
