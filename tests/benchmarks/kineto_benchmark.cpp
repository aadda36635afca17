// How fast a PyTorch profiler recording becomes a trace, in memory and on disk. The recording is
// made once: 256 MB of operators, launches, kernels and their flows, laid out as the profiler does.
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>

#include <benchmark/benchmark.h>
#include <unistd.h>

#include "traces/fst/fst_file.hpp"
#include "traces/import.hpp"

namespace foreshard::traces {
namespace {

constexpr std::int64_t kFileSize = 256'000'000;

const char* kKernel =
    "void at::native::vectorized_elementwise_kernel<4, at::native::AddFunctor<float>, "
    "at::detail::Array<char*, 3> >(int, at::native::AddFunctor<float>, at::detail::Array<char*, "
    "3>)";

// One operator with its launch, its kernel and the arrow between them, 20 us long.
int launch(char* text, std::size_t room, int n) {
  const double at = 1428625731896.179 + 20.0 * n;
  return std::snprintf(text, room,
                       R"(  {
    "ph": "X", "cat": "cpu_op", "name": "aten::add_", "pid": 25286, "tid": 25286,
    "ts": %.3f, "dur": 18.500,
    "args": {
      "External id": %d,"Record function id": 0, "Concrete Inputs": ["", "", "1"], "Input type": ["float", "float", "Scalar"], "Input Strides": [[1024, 1], [1024, 1], []], "Input Dims": [[512, 1024], [512, 1024], []], "Ev Idx": %d
    }
  },
  {
    "ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 25286, "tid": 25286,
    "ts": %.3f, "dur": 6.250,
    "args": {
      "External id": %d, "cbid": 211, "correlation": %d
    }
  },
  {
    "ph": "s", "id": %d, "pid": 25286, "tid": 25286, "ts": %.3f,
    "cat": "ac2g", "name": "ac2g"
  },
  {
    "ph": "X", "cat": "kernel", "name": "%s", "pid": 0, "tid": 7,
    "ts": %.3f, "dur": 15.125,
    "args": {
      "External id": %d, "queued": 0, "device": 0, "context": 1, "stream": 7, "correlation": %d, "registers per thread": 16, "shared memory": 0, "blocks per SM": 135.515152, "warps per SM": 542.060608, "grid": [17888, 1, 1], "block": [128, 1, 1], "est. achieved occupancy %%": 100
    }
  },
  {
    "ph": "f", "id": %d, "pid": 0, "tid": 7, "ts": %.3f,
    "cat": "ac2g", "name": "ac2g", "bp": "e"
  },
)",
                       at, n, n, at + 2, n, n + 7, n + 7, at + 2, kKernel, at + 30, n, n + 7, n + 7,
                       at + 30);
}

// Goes away with the process.
class Files {
 public:
  Files() {
    folder_ =
        std::filesystem::temp_directory_path() / ("kineto_benchmark." + std::to_string(::getpid()));
    std::filesystem::create_directories(folder_);
    std::ofstream out(recording(), std::ios::binary);
    out << "{\n  \"schemaVersion\": 1,\n  \"distributedInfo\": {\"rank\": 0},\n"
           "  \"baseTimeNanoseconds\": 1751410836000000000,\n  \"traceEvents\": [\n";
    char text[4096];
    for (int n = 1; out && out.tellp() < kFileSize; ++n)
      out.write(text, launch(text, sizeof text, n));
    out << "  {\"name\": \"Record Window End\", \"ph\": \"i\", \"s\": \"g\", \"ts\": 1}\n]}\n";
    if (!out) throw std::runtime_error("no room for the recording");
  }
  Files(const Files&) = delete;
  Files& operator=(const Files&) = delete;
  ~Files() {
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }

  std::string recording() const { return (folder_ / "rank0.json").string(); }
  std::string trace() const { return (folder_ / "rank0.fst").string(); }

 private:
  std::filesystem::path folder_;
};

const Files& files() {
  static const Files all;
  return all;
}

std::vector<Trace> import() {
  auto traces = import_kineto({files().recording()});
  if (!traces) throw std::runtime_error(traces.error().text());
  return std::move(*traces);
}

void import_into_memory(benchmark::State& state) {
  files();
  for (auto _ : state) benchmark::DoNotOptimize(import());
  state.SetBytesProcessed(state.iterations() * kFileSize);
}
BENCHMARK(import_into_memory)->Name("kineto/memory")->Unit(benchmark::kMillisecond)->UseRealTime();

void import_into_file(benchmark::State& state) {
  files();
  for (auto _ : state) {
    const auto written = write_fst(files().trace(), import().front());
    if (!written) throw std::runtime_error(written.error().text());
  }
  state.SetBytesProcessed(state.iterations() * kFileSize);
}
BENCHMARK(import_into_file)->Name("kineto/fst")->Unit(benchmark::kMillisecond)->UseRealTime();

}  // namespace
}  // namespace foreshard::traces
