// What a large trace takes once it is open, in bytes for each event of its timeline, by part. The goal
// is 60 in all; the memory view's part is there once that was opened.
#include <benchmark/benchmark.h>
#include <malloc.h>

#include "gui/models/memory/memory_curves.hpp"
#include "gui/models/memory/rank_memory.hpp"
#include "tests/benchmarks/long_run.hpp"

namespace foreshard::gui {
namespace {

double bytes_in_use() {
  const auto info = ::mallinfo2();
  return static_cast<double>(info.uordblks) + static_cast<double>(info.hblkhd);
}

void memory_use(benchmark::State& state) {
  const DocumentPtr document = long_run();
  const auto count = static_cast<double>(document->trace->events.size());
  for ([[maybe_unused]] auto unused : state) {
    const double start = bytes_in_use();
    double before = start;
    const auto end_part = [&](const char* name) {
      const double now = bytes_in_use();
      state.counters[name] = (now - before) / count;
      before = now;
    };
    const auto trace = std::make_shared<const traces::Trace>(*document->trace);
    end_part("trace");
    const profiler::Analysis analysis = profiler::analyse(*trace);
    end_part("analysis");
    const LaneSet lanes(trace);
    end_part("lanes");
    const auto curve = memory_curve(trace, 0);
    end_part("memory_curve");
    state.counters["all"] = (before - start) / count;
    const RankMemory memory({trace, nullptr, nullptr, false}, 0);
    end_part("memory_view");
    benchmark::DoNotOptimize(memory.is_empty());
  }
}
BENCHMARK(memory_use)
    ->Name("gui/memory_use/bytes_an_event")
    ->Unit(benchmark::kMillisecond)
    ->Iterations(1);

}  // namespace
}  // namespace foreshard::gui
