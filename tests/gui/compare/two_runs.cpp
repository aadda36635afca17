#include "tests/gui/compare/two_runs.hpp"

#include <string>

#include "traces/metadata.hpp"

namespace foreshard::tests {
namespace {

traces::Trace run(bool is_predicted, double factor) {
  traces::Trace trace;
  traces::RunDescription about;
  about.ranks = 1;
  about.predicted = is_predicted;
  about.program_hash = 1;
  trace.metadata = traces::run_metadata(about);
  trace.lanes = {{0, false, trace.strings.intern("host")},
                 {0, true, trace.strings.intern("compute")}};
  const auto length = static_cast<std::int64_t>(static_cast<double>(kKernelNs) * factor);
  std::int64_t at = 0;
  for (int step = 1; step <= 4; ++step) {
    const std::int64_t start = at;
    for (int n = 0; n < 12; ++n) {
      const int unit = n < 6 ? n / 2 : 5 - n / 2;
      traces::Event event;
      event.start_ns = at;
      event.end_ns = at += length;
      event.lane = 1;
      event.step = step;
      event.kind = traces::EventKind::compute;
      event.name = trace.strings.intern(n % 2 == 0 ? "matmul" : "add");
      event.phase = trace.strings.intern(n < 6 ? "forward" : "backward");
      event.unit = trace.strings.intern("model.layers." + std::to_string(unit));
      if (is_predicted) {
        event.cost_source = n % 2 == 0 ? CostSource::fitted : CostSource::measured;
      }
      event.stable_key = trace.strings.intern("k/" + std::to_string(n));
      trace.events.push_back(event);
    }
    at += 500'000;
    trace.steps.push_back({0, step, start, at, 0, 0});
    traces::MemoryEvent block;
    block.time_ns = start;
    block.step = step;
    block.address = step;
    block.bytes = block.requested = 1 << 20;
    block.category = trace.strings.intern("activations");
    trace.memory.push_back(block);
  }
  traces::sort(trace);
  return trace;
}

}  // namespace

TwoRuns two_runs() {
  return {run(false, 1), run(true, 1.5)};
}

}  // namespace foreshard::tests
