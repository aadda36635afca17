// What a round of a pool's threads costs: rounds that follow each other at once, as in a product, with work
// of some microseconds a task or none. With more threads than cores it is the overhead that shows, not speed.
#include <benchmark/benchmark.h>
#include <sys/resource.h>

#include "executor/device/clock.hpp"
#include "executor/device/worker_pool.hpp"

namespace foreshard::executor {
namespace {

double context_switches() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_nvcsw + usage.ru_nivcsw);
}

// Threads, microseconds of a task; two tasks a thread.
void pool_round(benchmark::State& state) {
  const auto threads = static_cast<int>(state.range(0));
  const Nanoseconds work{state.range(1) * 1000};
  WorkerPool pool(threads);
  const double before = context_switches();
  for (auto _ : state) {
    pool.run(2 * threads, [work](std::int64_t, int) {
      for (const Nanoseconds begin = monotonic_now(); monotonic_now() - begin < work;) {
      }
    });
  }
  state.counters["switches"] =
      benchmark::Counter(context_switches() - before, benchmark::Counter::kAvgIterations);
}
BENCHMARK(pool_round)
    ->Name("pool/round")
    ->ArgNames({"threads", "us"})
    ->ArgsProduct({{1, 2, 4, 32, 64}, {0, 10}})
    ->MeasureProcessCPUTime()
    ->UseRealTime()
    ->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace foreshard::executor
