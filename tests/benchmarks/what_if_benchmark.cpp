// A question to a recording of 10^6 events: half a million calls that launch half a million pieces of
// work on four streams, with waits between streams and of the host. The goal is a few seconds; memory is
// that of the network, some 150 bytes an event.
#include <benchmark/benchmark.h>

#include "simulator/whatif/what_if.hpp"
#include "tests/simulator/whatif/drawn_program.hpp"

namespace foreshard::simulator {
namespace {

void ask(benchmark::State& state) {
  const traces::Trace trace = run_program(draw_program(7, static_cast<int>(state.range(0)) / 2),
                                          std::vector<double>(kDrawnNames, 1));
  const WhatIfQuestion question{*parse_changes({"*=0.5"}, {}), {}};
  for (auto _ : state) {
    const auto answer = what_if(trace, question, "");
    benchmark::DoNotOptimize(answer->asked->span_ns);
  }
  state.SetItemsProcessed(static_cast<std::int64_t>(trace.events.size()) * state.iterations());
}
BENCHMARK(ask)->Name("what_if/events")->Arg(100'000)->Arg(1'000'000)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace foreshard::simulator
