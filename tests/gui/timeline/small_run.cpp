#include "tests/gui/timeline/small_run.hpp"

#include "traces/metadata.hpp"

namespace foreshard::gui {
namespace {

using traces::EventKind;

struct Work {
  int lane;
  EventKind kind;
  const char *name, *phase, *unit;
  std::int64_t start_us, end_us;
};

constexpr Work kWork[] = {
    {2, EventKind::communication, "all_gather", "forward", "layers.0", 20, 120},
    {2, EventKind::communication, "all_gather", "forward", "layers.1", 200, 300},
    {1, EventKind::compute, "matmul", "forward", "layers.0", 120, 320},
    {1, EventKind::compute, "matmul", "forward", "layers.1", 320, 520},
    {1, EventKind::compute, "matmul_weight_gradient", "backward", "layers.1", 520, 700},
    {1, EventKind::compute, "matmul_weight_gradient", "backward", "layers.0", 700, 860},
    {3, EventKind::communication, "reduce_scatter", "backward", "layers.1", 700, 780},
    {3, EventKind::communication, "reduce_scatter", "backward", "layers.0", 860, 900},
};

}  // namespace

traces::Trace small_run() {
  traces::Trace trace;
  const auto text = [&](const std::string& t) { return trace.strings.intern(t); };
  trace.lanes = {{0, false, text("host")},
                 {0, true, text("compute")},
                 {0, true, text("all_gather")},
                 {0, true, text("reduce_scatter")}};
  for (int step = 0; step < 2; ++step) {
    const std::int64_t begin = us(1000) * step;
    std::int32_t instruction = 0;
    for (const Work& work : kWork) {
      traces::Event event;
      event.step = step + 1;
      event.name = text(work.name);
      event.phase = text(work.phase);
      event.unit = text(work.unit);
      event.stable_key = text("steady/0/" + std::string(work.phase) + "/" + work.unit + "/" +
                              work.name + "/0");
      event.instruction = instruction;
      event.bytes = 1 << 20;
      event.start_ns = begin + us(5) * instruction;
      event.end_ns = event.start_ns + us(5);
      trace.events.push_back(event);  // the host issues it
      event.lane = work.lane;
      event.kind = work.kind;
      event.start_ns = begin + us(work.start_us);
      event.end_ns = begin + us(work.end_us);
      trace.events.push_back(event);
      traces::MemoryEvent memory;
      memory.time_ns = begin + us(5) * instruction;
      memory.step = step + 1;
      memory.address = (1 + instruction) << 20;
      memory.bytes = memory.requested = 1 << 20;
      memory.lane = 1;
      memory.category = text("activations");
      memory.owner = text(std::string(work.unit) + ": output");
      memory.instruction = instruction;
      trace.memory.push_back(memory);
      memory.action = traces::MemoryAction::free_requested;
      memory.time_ns = begin + us(900);
      trace.memory.push_back(memory);
      ++instruction;
    }
    trace.steps.push_back({0, step + 1, begin, begin + us(900), 5.0, 0.25});
  }
  traces::RunDescription run;
  run.ranks = 1;
  trace.metadata = traces::run_metadata(run);
  trace.complete_until_ns = us(1900);
  sort(trace);
  return trace;
}

std::int32_t find_event(const traces::Trace& trace, const char* name, const char* unit, int step) {
  for (std::size_t n = 0; n < trace.events.size(); ++n) {
    const traces::Event& event = trace.events[n];
    if (event.lane > 0 && event.step == step && trace.strings[event.name] == name &&
        trace.strings[event.unit] == unit) {
      return static_cast<std::int32_t>(n);
    }
  }
  return traces::kNone;
}

}  // namespace foreshard::gui
