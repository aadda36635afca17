// The rules that layering_test.cpp enforces: which folder may include which, where the headers of
// third parties belong, and what models/ must do without.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

namespace foreshard::tests {

// What a folder may include besides itself: the folders named here, and what those may include under
// the same top folder. A folder that is not named has no sources.
inline const std::map<std::string, std::set<std::string>> kMayInclude = {
    {"models/base", {}},
    {"models/llama", {"models/base"}},
    {"models/plan", {"models/base"}},
    {"models/plan/foreign", {"models/plan"}},
    {"models/allocator", {"models/plan"}},
    {"models/hardware", {"models/base", "models/hardware/catalogue"}},
    {"models/hardware/catalogue", {}},
    {"models/sharding", {"models/hardware", "models/llama", "models/plan"}},
    {"models/question", {"models/plan/foreign", "models/sharding"}},
    {"models/program", {"models/allocator", "models/sharding"}},
    {"models/lowering/script", {"models/program"}},
    {"models/lowering/operators", {"models/lowering/script"}},
    {"models/lowering/operators/pytorch", {"models/lowering/script"}},
    {"models/lowering/runtimes", {"models/lowering/script"}},
    {"models/lowering/training", {"models/lowering/script"}},
    {"models/lowering",
     {"models/lowering/operators", "models/lowering/operators/pytorch", "models/lowering/runtimes",
      "models/lowering/training"}},

    {"traces", {"traces/input", "models/program", "models/question"}},
    {"traces/input", {"models/base"}},
    {"traces/sqlite", {"traces/input", "models/base"}},
    {"traces/fst", {"traces", "traces/sqlite", "models/base"}},
    {"traces/export", {"traces", "models/base"}},
    {"traces/open",
     {"traces/export", "traces/fst", "traces/kineto", "traces/nsys", "traces/snapshot",
      "traces/sqlite", "models/base"}},
    {"traces/query", {"traces/fst", "traces/sqlite", "models/base"}},
    {"traces/allocator", {"traces", "models/allocator"}},
    {"traces/kineto", {"traces/kineto/costs", "models/program"}},
    {"traces/kineto/costs", {"traces/kineto/json", "models/program"}},
    {"traces/kineto/json", {"traces", "models/base"}},
    {"traces/nsys", {"traces", "traces/sqlite", "models/base"}},
    {"traces/snapshot", {"traces/allocator", "traces/snapshot/pickle", "models/allocator"}},
    {"traces/snapshot/pickle", {"models/base"}},

    {"profiler/record", {"profiler/record/cupti", "traces/fst", "models/program"}},
    {"profiler/record/cupti", {"models/base"}},
    {"profiler/injection", {"profiler/record/cupti", "traces", "traces/nsys", "models/base"}},
    {"profiler/analysis", {"traces", "models/program"}},
    {"profiler/report", {"profiler/analysis", "traces", "models/program"}},
    {"profiler/replay", {"profiler/report", "traces/snapshot", "models/allocator"}},

    {"simulator/engine", {"traces", "models/program"}},
    {"simulator/network", {"models/hardware", "models/program"}},
    {"simulator/device", {"models/hardware", "models/program"}},
    {"simulator/host", {"simulator/engine", "models/hardware", "models/program"}},
    {"simulator/costs",
     {"simulator/engine", "simulator/network", "simulator/device", "simulator/host",
      "models/hardware", "models/program"}},
    {"simulator/predict",
     {"models/question", "simulator/costs", "traces/allocator", "models/hardware",
      "models/lowering"}},
    {"simulator/search",
     {"models/question", "simulator/costs", "simulator/predict", "models/hardware",
      "models/lowering"}},
    {"simulator/fit",
     {"models/question", "simulator/predict", "traces", "models/hardware", "models/lowering"}},
    {"simulator/whatif", {"simulator/fit", "traces", "models/hardware", "models/program"}},
    {"simulator/calibrate", {"simulator/fit", "traces", "models/sharding"}},

    {"executor/device", {"models/program"}},
    {"executor/communication", {"executor/device", "models/program"}},
    {"executor/data", {"executor/device", "models/program"}},
    {"executor/cpu", {"executor/cpu/simd", "models/program"}},
    {"executor/cpu/simd", {"executor/device", "models/base"}},
    {"executor/cuda", {"executor/cuda/communication", "models/program", "models/sharding"}},
    {"executor/cuda/communication",
     {"executor/communication", "executor/cuda/device", "models/program"}},
    {"executor/cuda/device",
     {"executor/cuda/kernels", "executor/cuda/libraries", "models/program"}},
    {"executor/cuda/kernels", {"executor/cuda/kernels/cudnn", "executor/device", "models/program"}},
    {"executor/cuda/kernels/cudnn", {"models/base"}},
    {"executor/cuda/libraries", {"models/base"}},
    {"executor/run",
     {"traces", "models/question", "executor/communication", "executor/cpu", "executor/data",
      "profiler/record", "models/lowering"}},

    {"gui/models/base", {"models/program", "traces"}},
    {"gui/models/timeline",
     {"gui/models/base", "simulator/costs", "profiler/analysis", "traces", "models/hardware",
      "models/plan", "models/program"}},
    {"gui/models/memory",
     {"gui/models/base", "simulator/predict", "profiler/analysis", "profiler/replay", "traces",
      "traces/allocator", "traces/open", "traces/snapshot", "models/allocator", "models/program"}},
    {"gui/models/what_if",
     {"gui/models/base", "gui/models/session", "simulator/fit", "simulator/predict", "traces",
      "models/hardware", "models/lowering", "models/plan", "models/llama"}},
    {"gui/models/comparison",
     {"gui/models/base", "gui/models/memory", "gui/models/timeline", "profiler/analysis",
      "profiler/report", "profiler/replay", "traces", "traces/open", "traces/snapshot",
      "models/base"}},
    {"gui/models/session",
     {"gui/models/timeline", "gui/models/base", "simulator/predict", "profiler/analysis", "traces",
      "traces/open", "traces/fst", "models/llama", "models/plan"}},
    {"gui/paint", {"gui/models/base"}},
    {"gui/views/base", {"gui/paint", "gui/models/memory", "gui/models/session"}},
    {"gui/views/timeline",
     {"gui/views/base", "gui/models/timeline", "gui/models/memory", "profiler/analysis", "traces"}},
    {"gui/views/inspector",
     {"gui/views/base", "gui/models/timeline", "gui/models/memory", "profiler/analysis",
      "profiler/report", "traces"}},
    {"gui/views/memory",
     {"gui/views/base", "gui/models/memory", "simulator/predict", "profiler/replay", "traces",
      "traces/allocator"}},
    {"gui/views/what_if",
     {"gui/views/base", "gui/models/what_if", "gui/models/memory", "simulator/predict",
      "models/hardware", "models/plan", "models/plan/foreign", "models/llama"}},
    {"gui/views/compare",
     {"gui/views/base", "gui/models/comparison", "gui/models/timeline", "gui/models/memory",
      "profiler/analysis", "profiler/replay", "traces"}},
    {"gui/views/shell",
     {"gui/views/timeline", "gui/views/inspector", "gui/views/memory", "gui/views/what_if",
      "gui/views/compare", "gui/models/session", "traces/open", "traces", "models/base",
      "models/plan/foreign"}},
    {"gui", {"gui/views/shell", "gui/paint"}},
    {"cli/common",
     {"models/question", "simulator/predict", "traces/open", "models/hardware", "models/lowering",
      "models/plan/foreign"}},
    {"cli",
     {"models/question", "cli/common", "executor/cuda", "executor/run", "simulator/calibrate",
      "simulator/fit", "simulator/search", "simulator/whatif", "profiler/injection",
      "profiler/record", "profiler/replay", "traces/kineto", "traces/nsys", "traces/open",
      "traces/query", "traces/snapshot", "models/hardware", "models/lowering",
      "models/plan/foreign"}},
};

struct ThirdParty {
  std::string name;
  std::vector<std::string> headers;          // prefixes of what stands between < and >
  std::vector<std::string> allowed_only_in;  // prefixes of paths; empty: anywhere
};

inline const std::vector<ThirdParty> kThirdParties = {
    {"CUDA",
     {"cuda", "cublas", "cudnn", "nccl", "cupti", "nvml", "nvtx"},
     {"executor/cuda/", "profiler/record/cupti", "tests/cuda/"}},
    {"Boost", {"boost/"}, {"simulator/"}},
    {"Qt", {"Q"}, {"gui/"}},
    {"JSON", {"nlohmann/"}, {}},
    {"TOML", {"toml++/", "toml.hpp"}, {}},
    {"SQLite", {"sqlite3"}, {}},
    {"oneDNN", {"dnnl", "oneapi/"}, {"executor/", "tests/benchmarks/"}},
    {"MPI", {"mpi"}, {"executor/"}},
    {"Eigen", {"Eigen/"}, {}},
    {"CLI11", {"CLI/"}, {"cli/"}},
    {"fmt", {"fmt/"}, {}},
    {"zlib", {"zlib"}, {}},
    {"simdjson", {"simdjson"}, {"traces/"}},
    {"yaml-cpp", {"yaml-cpp/"}, {"models/plan/foreign/"}},
    {"RapidCheck", {"rapidcheck"}, {"tests/"}},
};

// models/ is pure: what it computes depends on its arguments alone.
inline const std::set<std::string> kImpure = {"atomic", "condition_variable", "future",
                                              "mutex",  "shared_mutex",       "thread"};

}  // namespace foreshard::tests
