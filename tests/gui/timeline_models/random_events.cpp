#include "tests/gui/timeline_models/random_events.hpp"

#include <algorithm>
#include <array>
#include <random>

namespace foreshard::gui::tests {
namespace {

using traces::Event;
using traces::EventKind;

class Drawing {
 public:
  Drawing(traces::Trace& trace, std::uint32_t seed) : trace_(trace), random_(seed) {}

  void stream(std::int32_t lane, int events, EventKind kind, bool overlaps) {
    static constexpr std::array<const char*, 5> kKernels{
        {"matmul", "attention", "rms_norm", "all_gather_copy_out", "swiglu"}};
    static constexpr std::array<const char*, 2> kCollectives{{"all_gather", "reduce_scatter"}};
    std::int64_t at = below(5000);
    for (int n = 0; n < events; ++n) {
      Event event = drawn(lane, at, n, events);
      event.kind = kind;
      event.name = text(kind == EventKind::communication ? kCollectives[index(kCollectives.size())]
                                                         : kKernels[index(kKernels.size())]);
      trace_.events.push_back(event);
      at = event.end_ns + gap();
      if (overlaps && below(8) == 0) at = event.start_ns + below(event.end_ns - event.start_ns + 1);
    }
  }

  // Calls within calls, each after what its caller called before.
  void host(std::int32_t lane, int events) {
    std::int64_t at = below(5000);
    for (int n = 0; n < events;) {
      Event outer = drawn(lane, at, n, events);
      outer.kind = EventKind::host;
      outer.name = text("issue");
      trace_.events.push_back(outer);
      ++n;
      std::int64_t inner_at = outer.start_ns;
      while (n < events && below(3) != 0) {
        Event inner = outer;
        inner.name = text("launch");
        inner.start_ns = inner_at + below(outer.end_ns - inner_at + 1);
        inner.end_ns = inner.start_ns + below(outer.end_ns - inner.start_ns + 1);
        trace_.events.push_back(inner);
        inner_at = inner.end_ns;
        ++n;
      }
      at = outer.end_ns + gap();
    }
  }

  traces::StringId text(const std::string& words) { return trace_.strings.intern(words); }

 private:
  std::int64_t below(std::int64_t bound) {
    return std::uniform_int_distribution<std::int64_t>(
        0, std::max<std::int64_t>(bound, 1) - 1)(random_);
  }
  std::size_t index(std::size_t count) {
    return static_cast<std::size_t>(below(static_cast<std::int64_t>(count)));
  }
  // Most are short, some last a thousand times as long.
  std::int64_t length() { return below(20) == 0 ? 0 : below(std::int64_t{10} << (3 * below(5))); }
  std::int64_t gap() { return below(4) == 0 ? below(20'000) : below(20); }

  Event drawn(std::int32_t lane, std::int64_t at, int number, int of) {
    static constexpr std::array<const char*, 3> kPhases{{"forward", "backward", "optimizer"}};
    Event event;
    event.lane = lane;
    event.start_ns = at;
    event.end_ns = at + length();
    event.step = 1 + 2 * number / of;
    event.phase = text(kPhases[index(kPhases.size())]);
    event.unit = text("model.layers." + std::to_string(below(6)));
    event.cost_source = static_cast<CostSource>(number % static_cast<int>(CostSource::kCount));
    return event;
  }

  traces::Trace& trace_;
  std::mt19937 random_;
};

}  // namespace

std::shared_ptr<const traces::Trace> random_events(int ranks, int events_per_lane,
                                                   std::uint32_t seed) {
  auto trace = std::make_shared<traces::Trace>();
  Drawing drawing(*trace, seed);
  for (std::int32_t rank = 0; rank < ranks; ++rank) {
    const auto first = static_cast<std::int32_t>(trace->lanes.size());
    for (const auto& [is_device, name] :
         {std::pair(false, "host"), std::pair(true, "compute"), std::pair(true, "all_gather")}) {
      trace->lanes.push_back({rank, is_device, drawing.text(name)});
    }
    drawing.host(first, events_per_lane);
    drawing.stream(first + 1, events_per_lane, EventKind::compute, false);
    drawing.stream(first + 2, events_per_lane, EventKind::communication, true);
  }
  traces::sort(*trace);
  return trace;
}

}  // namespace foreshard::gui::tests
