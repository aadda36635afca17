// How fast weights are drawn and converted, and batches filled.
#include <vector>

#include <benchmark/benchmark.h>

#include "executor/data/initial_weights.hpp"
#include "executor/data/safetensors.hpp"
#include "executor/data/tokens.hpp"

namespace {

using namespace foreshard::executor;

constexpr std::int64_t kElements = 1 << 20;

void draw_weights(benchmark::State& state) {
  std::vector<float> values(kElements);
  for (auto _ : state) {
    fill_normal(1, 2, 0.02, 0, kElements, values.data());
    benchmark::DoNotOptimize(values.data());
  }
  state.SetItemsProcessed(state.iterations() * kElements);
}
BENCHMARK(draw_weights)->Name("data/draw_weights");

void read_weights(benchmark::State& state, StoredType type) {
  const std::vector<std::byte> stored(static_cast<std::size_t>(kElements * item_size(type)));
  StoredTensor tensor;
  tensor.type = type;
  tensor.data = stored;
  std::vector<float> values(kElements);
  for (auto _ : state) {
    read_as_float(tensor, 0, kElements, values.data());
    benchmark::DoNotOptimize(values.data());
  }
  state.SetItemsProcessed(state.iterations() * kElements);
}
BENCHMARK_CAPTURE(read_weights, bf16, StoredType::bf16)->Name("data/read_weights/bf16");
BENCHMARK_CAPTURE(read_weights, f16, StoredType::f16)->Name("data/read_weights/f16");

void fill_batch(benchmark::State& state) {
  const auto data = TokenData::shipped_text(32000, 2048);
  if (!data) return state.SkipWithError("the shipped text is too short");
  std::vector<std::int32_t> inputs(4 * 2048), targets(4 * 2048);
  BatchPosition at{.world = 8, .micro_batch = 4};
  for (auto _ : state) {
    data->fill_batch(at, {}, inputs.data(), targets.data());
    ++at.step;
    benchmark::DoNotOptimize(inputs.data());
  }
  state.SetItemsProcessed(state.iterations() * 4 * 2048);
}
BENCHMARK(fill_batch)->Name("data/fill_batch");

}  // namespace
