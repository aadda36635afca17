#include "tests/traces/sample_trace.hpp"

#include "traces/metadata.hpp"

namespace foreshard::traces {

Trace sample_trace() {
  Trace trace;
  const auto text = [&](const char* t) { return trace.strings.intern(t); };
  trace.lanes = {{0, false, text("host")},
                 {0, true, text("compute")},
                 {1, false, text("host")},
                 {1, true, text("all_gather")}};
  for (int step = 1; step <= 3; ++step) {
    const std::int64_t t = step * 1'000'000;
    for (std::int32_t rank = 0; rank < 2; ++rank) {
      const std::int32_t host = 2 * rank, stream = host + 1;
      const auto key =
          text(("steady/0/forward/model.layers." + std::to_string(rank) + "/matmul/0").c_str());
      trace.events.push_back({t, t + 900'000, -1, host, step, EventKind::range, CostSource::none, 0,
                              text("forward"), text("forward"), 0, 0, 0, 3, 0, 0});
      trace.events.push_back({t + 10, t + 20, -1, host, step, EventKind::host, CostSource::none, 0,
                              text("matmul"), text("forward"), text("root"), key,
                              text("matmul bf16 8 8 8 0"), 7, 0, 384});
      trace.events.push_back({t + 100, t + 700'000, 650'000, stream, step,
                              rank == 0 ? EventKind::compute : EventKind::communication,
                              CostSource::none, 0, text("matmul"), text("forward"), text("root"),
                              key, text("matmul bf16 8 8 8 0"), 7, 0, 384});
      trace.memory.push_back({t, rank, MemoryAction::segment_alloc, false, step, 4096 * step,
                              2 << 20, 0, stream, 0, 0, text("forward"), 5});
      trace.memory.push_back({t + 1, rank, MemoryAction::alloc, false, step, 4096 * step, 1024,
                              1000, stream, text("activations"), text("model.norm: rstd"),
                              text("forward"), 5});
      trace.memory.push_back({t + 2, rank, MemoryAction::free_requested, false, step, 4096 * step,
                              1024, 1000, stream, text("activations"), text("model.norm: rstd"),
                              text("forward"), 6});
      trace.steps.push_back({rank, step, t, t + 950'000, 5.0 / step, 0.25,
                             trace.strings.intern("step " + std::to_string(step))});
    }
  }
  RunDescription run;
  run.program_hash = 0x123456789abcdef0;
  run.model_json = R"({"hidden_size": 64})";
  run.plan_toml = "[wrap]\npolicy = \"none\"\n";
  run.ranks = 2;
  trace.metadata = run_metadata(run);
  trace.metadata["complete"] = "1";
  trace.metadata["complete_until_ns"] = "3950000";
  trace.dropped["ring full"] = 3;
  trace.dropped_ranges = {{0, false, 1'200'000, 1'300'000, 2},
                          {kNone, true, 2'000'000, 2'000'000, 1}};
  trace.counters = {{0, text("SMs Active"), text("%"), {{1'000'000, 12.5}, {2'100'000, 99}}},
                    {1, text("power \"of the board\""), 0, {{-20, -1.0 / 3}, {1'500'000, 1e9}}}};
  trace.complete_until_ns = 3'950'000;
  sort(trace);
  return trace;
}

std::string difference(const Trace& a, const Trace& b) {
  const auto text = [](const Trace& t, StringId id) { return t.strings[id]; };
  if (a.lanes.size() != b.lanes.size()) return "number of lanes";
  for (std::size_t i = 0; i < a.lanes.size(); ++i) {
    if (a.lanes[i].rank != b.lanes[i].rank || a.lanes[i].device != b.lanes[i].device ||
        text(a, a.lanes[i].name) != text(b, b.lanes[i].name)) {
      return "lane " + std::to_string(i);
    }
  }
  if (a.events.size() != b.events.size()) return "number of events";
  for (std::size_t i = 0; i < a.events.size(); ++i) {
    const Event &x = a.events[i], &y = b.events[i];
    if (x.start_ns != y.start_ns || x.end_ns != y.end_ns || x.cpu_ns != y.cpu_ns ||
        x.lane != y.lane || x.step != y.step || x.kind != y.kind || x.micro_step != y.micro_step ||
        text(a, x.name) != text(b, y.name) || text(a, x.phase) != text(b, y.phase) ||
        text(a, x.unit) != text(b, y.unit) || text(a, x.stable_key) != text(b, y.stable_key) ||
        text(a, x.cost_key) != text(b, y.cost_key) || x.instruction != y.instruction ||
        x.bytes != y.bytes || x.correlation != y.correlation || x.cost_source != y.cost_source ||
        x.cost_error != y.cost_error || text(a, x.group) != text(b, y.group) ||
        x.sequence != y.sequence) {
      return "event " + std::to_string(i);
    }
  }
  if (a.memory.size() != b.memory.size()) return "number of memory events";
  for (std::size_t i = 0; i < a.memory.size(); ++i) {
    const MemoryEvent &x = a.memory[i], &y = b.memory[i];
    if (x.time_ns != y.time_ns || x.rank != y.rank || x.action != y.action ||
        x.on_host != y.on_host || x.step != y.step || x.address != y.address ||
        x.bytes != y.bytes || x.requested != y.requested || x.lane != y.lane ||
        text(a, x.category) != text(b, y.category) || text(a, x.owner) != text(b, y.owner) ||
        text(a, x.phase) != text(b, y.phase) || x.instruction != y.instruction ||
        text(a, x.stack) != text(b, y.stack)) {
      return "memory event " + std::to_string(i);
    }
  }
  if (a.steps.size() != b.steps.size()) return "number of steps";
  for (std::size_t i = 0; i < a.steps.size(); ++i) {
    const Step &x = a.steps[i], &y = b.steps[i];
    if (x.rank != y.rank || x.step != y.step || x.start_ns != y.start_ns || x.end_ns != y.end_ns ||
        x.loss != y.loss || x.gradient_norm != y.gradient_norm ||
        text(a, x.label) != text(b, y.label)) {
      return "step " + std::to_string(i);
    }
  }
  if (a.metadata != b.metadata) return "metadata";
  if (a.dropped != b.dropped) return "dropped";
  if (a.dropped_ranges != b.dropped_ranges) return "dropped ranges";
  if (a.counters.size() != b.counters.size()) return "number of counters";
  for (std::size_t i = 0; i < a.counters.size(); ++i) {
    const Counter &x = a.counters[i], &y = b.counters[i];
    if (x.rank != y.rank || text(a, x.name) != text(b, y.name) ||
        text(a, x.unit) != text(b, y.unit) || x.samples != y.samples) {
      return "counter " + std::to_string(i);
    }
  }
  if (a.complete != b.complete) return "complete";
  if (a.complete_until_ns != b.complete_until_ns) return "complete_until_ns";
  return "";
}

}  // namespace foreshard::traces
