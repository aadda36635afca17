#include "tests/traces/kineto/kineto_sample.hpp"

#include <optional>

#include <gtest/gtest.h>
#include <zlib.h>

namespace foreshard::traces {

std::string kineto_file(const std::string& events, const std::string& more) {
  return "{\n\"schemaVersion\": 1,\n" + more + "\"traceEvents\": [\n" + events + "\n]\n}\n";
}

std::string kineto_sample() {
  return kineto_file(R"json(
{"ph": "X", "cat": "user_annotation", "name": "ProfilerStep#3", "pid": 7, "tid": 7, "ts": 1.000, "dur": 100.000, "args": {"External id": 1}},
{"ph": "X", "cat": "user_annotation", "name": "FSDP::pre_forward (layers.0)", "pid": 7, "tid": 7, "ts": 2.000, "dur": 8.000, "args": {
  "External id" : 2}},
{"ph": "X", "cat": "user_annotation", "name": "FSDP::all_gather (layers.0)", "pid": 7, "tid": 7, "ts": 3.000, "dur": 5.000, "args": {"External id": 3}},
{"ph": "X", "cat": "cpu_op", "name": "record_param_comms", "pid": 7, "tid": 7, "ts": 4.000, "dur": 3.000, "args": {"External id": 4, "Collective name": "_allgather_base", "In msg nelems": 1000, "Out msg nelems": 4000, "Group size": 4, "dtype": "BFloat16"}},
{"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernelExC", "pid": 7, "tid": 7, "ts": 5.000, "dur": 1.000, "args": {"External id": 4, "cbid": 1, "correlation": 50}},
{"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 7, "tid": 7, "ts": 20.000, "dur": 10.000, "args": {"External id": 5, "Input Dims": [[512, 384], [384, 1024]], "Input type": ["c10::BFloat16", "c10::BFloat16"], "Input Strides": [[384, 1], [1, 384]]}},
{"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 7, "tid": 7, "ts": 21.000, "dur": 2.500, "args": {"External id": 5, "correlation": 51}},
{"ph": "s", "id": 51, "pid": 7, "tid": 7, "ts": 21.000, "cat": "ac2g", "name": "ac2g"},
{"ph": "f", "id": 51, "pid": 0, "tid": 7, "ts": 40.250, "cat": "ac2g", "name": "ac2g", "bp": "e"},
{"ph": "X", "cat": "kernel", "name": "gemm{lambda(int)#1}, \"quoted\"", "pid": 0, "tid": 7, "ts": 40.250, "dur": 20.125, "args": {"External id": 5, "device": 0, "stream": 7, "correlation": 51, "memory": Infinity}},
{"ph": "X", "cat": "kernel", "name": "ncclDevKernel_AllGather_RING_LL(ncclDevKernelArgsStorage<4096ul>)", "pid": 0, "tid": 20, "ts": 30.000, "dur": 9.000, "args": {"device": 0, "stream": 20, "correlation": 50}},
{"ph": "X", "cat": "gpu_memcpy", "name": "Memcpy HtoD (Pinned -> Device)", "pid": 0, "tid": 7, "ts": 61.000, "dur": 1.500, "args": {"External id": 5, "device": 0, "stream": 7, "correlation": 99, "bytes": 4096}},
{"ph": "X", "cat": "cuda_sync", "name": "Stream Wait Event", "pid": 0, "tid": 20, "ts": 29.000, "dur": 0, "args": {"stream": 20, "correlation": 52}},
{"ph": "X", "cat": "user_annotation", "name": "FSDP::post_forward (layers.0)", "pid": 7, "tid": 7, "ts": 35.000, "dur": 1.000, "args": {"External id": 6}},
{"ph": "X", "cat": "cpu_op", "name": "autograd::engine::evaluate_function: MmBackward0", "pid": 7, "tid": 8, "ts": 50.000, "dur": 9.000, "args": {"External id": 7}},
{"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 7, "tid": 8, "ts": 51.000, "dur": 2.000, "args": {"External id": 8, "Input Dims": [[1024, 512], [512, 384]], "Input type": ["c10::BFloat16", "c10::BFloat16"], "Input Strides": [[1, 1024], [384, 1]]}},
{"ph": "X", "cat": "cuda_runtime", "name": "cudaDeviceSynchronize", "pid": 7, "tid": 7, "ts": 70.000, "dur": 20.000, "args": {"correlation": 53}},
{"ph": "X", "cat": "user_annotation", "name": "ProfilerStep#4", "pid": 7, "tid": 7, "ts": 101.000, "dur": 50.000, "args": {"External id": 9}},
{"ph": "X", "cat": "user_annotation", "name": "Optimizer.step#AdamW.step", "pid": 7, "tid": 7, "ts": 110.000, "dur": 30.000, "args": {"External id": 10}},
{"ph": "X", "cat": "python_function", "name": "train.py(3): main", "pid": 7, "tid": 7, "ts": 0.500, "dur": 151.000, "args": {"Python id": 1}},
{"ph": "i", "cat": "cpu_instant_event", "s": "t", "name": "[memory]", "pid": 7, "tid": 7, "ts": 22.000, "args": {"Total Reserved": 8192, "Total Allocated": 3072, "Bytes": 1024, "Device Id": 0, "Device Type": 1, "Addr": 4096}},
{"ph": "i", "cat": "cpu_instant_event", "s": "t", "name": "[memory]", "pid": 7, "tid": 8, "ts": 52.000, "args": {"Total Reserved": 8192, "Total Allocated": 2560, "Bytes": -512, "Device Id": 0, "Device Type": 1, "Addr": 512}},
{"name": "process_name", "ph": "M", "ts": 0, "pid": 7, "tid": 0, "args": {"name": "python"}},
{"name": "thread_name", "ph": "M", "ts": 0, "pid": 7, "tid": 8, "args": {"name": "thread 8 (pt_autograd_0)"}},
{"name": "thread_name", "ph": "M", "ts": 0, "pid": 7, "tid": 8, "args": {"name": "thread 8 (python)"}},
{"ph": "X", "cat": "Trace", "ts": 0, "dur": 200, "pid": "Spans", "tid": "PyTorch Profiler", "name": "PyTorch Profiler (0)", "args": {"Op count": 0}},
{"name": "Record Window End", "ph": "i", "s": "g", "pid": "", "tid": "", "ts": 160})json",
                     R"("distributedInfo": {"backend": "nccl", "rank": 2, "world_size": 4},
"deviceProperties": [{"id": 0, "name": "GPU of a test"}], "baseTimeNanoseconds": 1000000000000,
)");
}

std::string kineto_sample_of_2021() {
  return R"json([
{"ph": "X", "cat": "Operator", "name": "aten::fill_", "pid": 9, "tid": "33", "ts": 1606911006433280, "dur": 7, "args": {"Input dims": [[1], []], "External id": 4}},
{"ph": "X", "cat": "Runtime", "name": "cudaLaunchKernel", "pid": 9, "tid": "33", "ts": 1606911006433281, "dur": 3, "args": {"correlation": 60, "external id": 4}},
{"ph": "X", "cat": "Kernel", "name": "fill", "pid": 0, "tid": "stream 7", "ts": 1606911006433290, "dur": 4, "args": {"device": 0, "stream": 7, "correlation": 60, "external id": 4}},
{"ph": "X", "cat": "Memset", "name": "Memset (Device)", "pid": 0, "tid": "stream 7", "ts": 1606911006433299, "dur": 1, "args": {"device": 0, "stream": 7, "correlation": 61, "bytes": 64}},
{"ph": "i", "s": "t", "name": "[memory]", "pid": 9, "tid": 33, "ts": 1606911006433282, "args": {"Device Type": 0, "Device Id": -1, "Bytes": 4}}
])json";
}

std::string write_gzip(const TemporaryFolder& folder, const std::string& name,
                       const std::string& content) {
  gzFile file = gzopen(folder.path(name).c_str(), "wb");
  gzwrite(file, content.data(), static_cast<unsigned>(content.size()));
  gzclose(file);
  return folder.path(name);
}

Trace import_text(const std::string& content, const ImportOptions& options) {
  const TemporaryFolder folder;
  auto traces = import_kineto({folder.write("recording.json", content)}, options);
  if (!traces || traces->size() != 1) {
    ADD_FAILURE() << (traces ? "not one trace" : traces.error().text());
    return {};
  }
  return std::move(traces->front());
}

Event event_named(const Trace& trace, const std::string& name) {
  std::optional<Event> found;
  for (const Event& event : trace.events) {
    if (trace.strings[event.name] != name) continue;
    EXPECT_FALSE(found) << "two events are called " << name;
    found = event;
  }
  EXPECT_TRUE(found) << "no event is called " << name;
  return found.value_or(Event());
}

}  // namespace foreshard::traces
