// Replaying a recorded allocation history: 100,000 events of training steps, under each kind of
// setting. The goal is 100 ms.
#include <cstddef>
#include <utility>
#include <vector>

#include <benchmark/benchmark.h>

#include "models/base/units.hpp"
#include "traces/allocator/allocator_replay.hpp"

namespace foreshard::traces {
namespace {

constexpr std::size_t kEvents = 100'000;

// Steps of 32 blocks: activations that live from forward to backward, gathered parameters on a
// second stream, temporaries and small statistics that come and go.
AllocatorHistory training_steps() {
  using Action = AllocatorAction;
  AllocatorHistory history;
  history.streams = {0, 1};
  Address name = 0;
  const auto take = [&](std::int64_t bytes, int stream) {
    history.events.push_back({Action::alloc, stream, ++name, bytes});
    return std::pair(name, bytes);
  };
  const auto give = [&](std::pair<Address, std::int64_t> block, int stream) {
    history.events.push_back({Action::free_requested, stream, block.first, block.second});
    history.events.push_back({Action::free_completed, stream, block.first, block.second});
  };
  while (history.events.size() < kEvents) {
    std::vector<std::pair<Address, std::int64_t>> activations;
    for (int block = 0; block < 64; ++block) {
      const bool is_forward = block < 32;
      const auto gathered = take(416 * kMiB.count, 1);
      for (int op = 0; op < 30; ++op) {
        const auto temporary = take((op % 7 + 1) * 3 * kMiB.count + 512 * (block % 5), 0);
        const auto statistic = take(4096 * (op % 5 + 1), 0);
        if (is_forward && op % 3 == 0) activations.push_back(take((16 + op) * kMiB.count, 0));
        if (!is_forward && op % 3 == 0) {
          give(activations.back(), 0);
          activations.pop_back();
        }
        give(temporary, 0);
        give(statistic, 0);
      }
      give(gathered, 1);
    }
  }
  history.events.resize(kEvents);
  return history;
}

void replay_events(benchmark::State& state) {
  const AllocatorHistory history = training_steps();
  ReplayOptions options;
  options.rules = history.rules;
  if (state.range(0) == 1) options.rules->expandable_segments = true;
  if (state.range(0) == 2) options.capacity = 9 * 1024 * kMiB.count;
  for (auto _ : state) {
    const auto result = replay(history, options);
    benchmark::DoNotOptimize(result->statistics.peak_reserved);
    state.counters["releases"] = static_cast<double>(result->statistics.segments_released);
  }
  state.SetItemsProcessed(static_cast<std::int64_t>(kEvents) * state.iterations());
}
// 0: as PyTorch comes; 1: expandable segments; 2: a device that is full again and again.
BENCHMARK(replay_events)
    ->Name("replay/100000")
    ->Arg(0)
    ->Arg(1)
    ->Arg(2)
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace foreshard::traces
