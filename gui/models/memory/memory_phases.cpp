#include "gui/models/memory/memory_phases.hpp"

#include <algorithm>
#include <optional>

namespace foreshard::gui {
namespace {

// Joins neighbours of one phase; each lasts until the next begins.
class SpanList {
 public:
  void add(std::int64_t start, std::int64_t end, const std::string& phase, std::int32_t step) {
    if (phase.empty()) return;
    if (!spans_.empty()) {
      PhaseSpan& last = spans_.back();
      if (last.phase == phase && last.step == step) {
        last.end = std::max(last.end, end);
        return;
      }
      if (last.step == step) last.end = start;
    }
    spans_.push_back({start, end, phase, step});
  }
  std::vector<PhaseSpan> take() { return std::move(spans_); }

 private:
  std::vector<PhaseSpan> spans_;
};

// Requests that follow one another in one phase of a step.
struct RequestRun {
  std::size_t first, last;  // samples
  traces::StringId phase;
  std::int32_t step;
};

}  // namespace

std::vector<PhaseSpan> memory_phases(const traces::Trace& trace, const MemoryCurve& curve,
                                     MemoryClock clock) {
  SpanList spans;
  if (clock == MemoryClock::device_time) {
    for (const traces::Event& event : trace.events) {
      const traces::Lane& lane = trace.lanes[static_cast<std::size_t>(event.lane)];
      if (lane.rank != curve.rank() || !lane.device || trace.strings[lane.name] != "compute")
        continue;
      spans.add(event.start_ns, event.end_ns, trace.strings[event.phase], event.step);
    }
    return spans.take();
  }
  const auto events = memory_of_rank(trace, curve.rank());
  const auto end_of = [&](std::size_t sample) {
    return sample + 1 < curve.size() ? curve.position(clock, sample + 1)
                                     : curve.bounds(clock).end_ns;
  };
  std::optional<RequestRun> run;
  const auto end_run = [&] {
    if (!run) return;
    spans.add(curve.position(clock, run->first), end_of(run->last), trace.strings[run->phase],
              run->step);
  };
  for (std::size_t sample = 0; sample < curve.size(); ++sample) {
    const traces::MemoryEvent event = events[sample];
    if (event.on_host || event.action == traces::MemoryAction::free_completed ||
        is_outside(event.action)) {
      continue;
    }
    if (run && run->phase == event.phase && run->step == event.step) {
      run->last = sample;
      continue;
    }
    end_run();
    run = {sample, sample, event.phase, event.step};
  }
  end_run();
  return spans.take();
}

}  // namespace foreshard::gui
