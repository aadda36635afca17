// The caching allocator where it matters: a request and a free that the cache serves, and the
// requests of a training step.
#include <cstddef>
#include <vector>

#include <benchmark/benchmark.h>

#include "models/allocator/caching_allocator.hpp"
#include "models/allocator/virtual_segments.hpp"
#include "models/base/units.hpp"

namespace foreshard {
namespace {

// A request and its free among `range` other free blocks, cut from the smallest that holds it.
void cached_pair(benchmark::State& state) {
  VirtualSegments memory;
  CachingAllocator allocator(AllocatorRules{}, std::nullopt, memory);
  std::vector<BlockId> held;
  for (std::int64_t i = 0; i < state.range(0); ++i) {
    held.push_back(allocator.allocate((20 + 2 * i) * kMiB.count, 0)->block);
  }
  for (const BlockId block : held) allocator.free(block);
  for (auto _ : state) {
    const auto a = allocator.allocate(20 * kMiB.count, 0);
    benchmark::DoNotOptimize(a->address);
    allocator.free(a->block);
  }
}
BENCHMARK(cached_pair)->Name("allocator/pair")->Arg(1)->Arg(16)->Arg(256);

struct StepRequest {
  std::int64_t bytes = 0;  // 0: a free
  std::size_t slot = 0;
  int stream = 0;
};

// Forward and backward of 32 blocks as an FSDP step requests them: gathered parameters and temporaries that
// come and go, activations that live from forward to backward, some small ones.
std::vector<StepRequest> step_requests() {
  std::vector<StepRequest> requests;
  std::size_t slots = 0;
  const auto take = [&](std::int64_t bytes, int stream) {
    requests.push_back({bytes, slots, stream});
    return slots++;
  };
  const auto give = [&](std::size_t slot) { requests.push_back({0, slot, 0}); };
  constexpr int kBlocks = 32, kOperators = 60;
  std::vector<std::vector<std::size_t>> activations(kBlocks);
  for (const bool backward : {false, true}) {
    for (int b = 0; b < kBlocks; ++b) {
      const std::size_t cast = take(27 * kMiB.count, 1), gathered = take(218 * kMiB.count, 1);
      give(cast);
      std::vector<std::size_t> unsharded;
      for (int p = 0; p < 9; ++p) unsharded.push_back(take((p % 3 + 1) * 16 * kMiB.count, 0));
      give(gathered);
      for (int o = 0; o < kOperators; ++o) {
        const std::size_t temporary = take((o % 7 + 1) * 3 * kMiB.count + 512, 0);
        const std::size_t statistic = take(4096 * (o % 5 + 1), 0);
        if (!backward && o % 3 == 0) {
          activations[static_cast<std::size_t>(b)].push_back(take(32 * kMiB.count, 0));
        }
        give(temporary);
        give(statistic);
      }
      for (const std::size_t slot : unsharded) give(slot);
      if (!backward) continue;
      for (const std::size_t slot : activations[static_cast<std::size_t>(kBlocks - 1 - b)]) {
        give(slot);
      }
    }
  }
  return requests;
}

void training_step(benchmark::State& state) {
  const AllocatorSettings settings{.expandable_segments = state.range(0) != 0};
  const auto requests = step_requests();
  std::vector<BlockId> blocks(requests.size());
  for (auto _ : state) {
    VirtualSegments memory;
    CachingAllocator allocator(settings, std::nullopt, memory);
    for (const StepRequest& r : requests) {
      if (r.bytes > 0) {
        blocks[r.slot] = allocator.allocate(r.bytes, r.stream)->block;
      } else {
        allocator.free(blocks[r.slot]);
      }
    }
    benchmark::DoNotOptimize(allocator.statistics().peak_reserved);
  }
  state.counters["ns_per_request"] = benchmark::Counter(
      static_cast<double>(requests.size()) * 1e-9,
      benchmark::Counter::kIsIterationInvariantRate | benchmark::Counter::kInvert);
}
BENCHMARK(training_step)->Name("allocator/step")->Arg(0)->Arg(1);

}  // namespace
}  // namespace foreshard
