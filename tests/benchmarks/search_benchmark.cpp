// How many plans a second one thread predicts in a search: the default space of an 8B model, on three
// machines whose programs are the same, with bounds and without. Items are plans that were predicted.
#include <cstdlib>
#include <iostream>

#include <benchmark/benchmark.h>

#include "simulator/search/default_space.hpp"
#include "simulator/search/search.hpp"

namespace foreshard::simulator {
namespace {

template <typename T>
T found_or_exit(Result<T> result) {
  if (result) return *std::move(result);
  std::cerr << result.error().text() << "\n";
  std::exit(1);
}

void search_default_space(benchmark::State& state, int gpus, Bounding bounding) {
  const Machine machines[] = {found_or_exit(load_machine("h100-sxm")),
                              found_or_exit(load_machine("a100-sxm-80")),
                              found_or_exit(load_machine("h200"))};
  SearchRequest request;
  request.base.model = found_or_exit(load_llama_config("llama-3.1-8b"));
  request.space = default_space();
  request.tokens_per_step = 1 << 20;
  request.bounding = bounding;
  for (const Machine& machine : machines) {
    request.targets.push_back({&machine, gpus, gpus / 8, 2.0});
  }
  std::size_t predicted = 0;
  for (auto _ : state) predicted += found_or_exit(search(request)).predicted;
  state.SetItemsProcessed(static_cast<std::int64_t>(predicted));
}

BENCHMARK_CAPTURE(search_default_space, 8_gpus, 8, Bounding::never)
    ->Name("search/llama-3.1-8b/8")
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(search_default_space, 64_gpus, 64, Bounding::always)
    ->Name("search-with-bounds/llama-3.1-8b/64")
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace foreshard::simulator
