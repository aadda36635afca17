#include "traces/kineto/background_collectives.hpp"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "traces/kineto/costs/arguments.hpp"

namespace foreshard::traces::kineto {
namespace {

constexpr std::string_view kCall = "c10d::";
constexpr std::string_view kRange = "gloo:";

// gloo may reduce and scatter by an all-reduce, so these are distinguished by their sizes only.
enum class What : std::uint8_t { nothing, gather, reduce };

What what_is(std::string_view name) {
  if (name.find("gather") != std::string_view::npos) return What::gather;
  return name.find("reduce") != std::string_view::npos ? What::reduce : What::nothing;
}

struct Sides {
  std::vector<std::uint32_t> calls, ranges;  // indices of events, by start
};

class Relation {
 public:
  explicit Relation(Collected& recording) : recording_(recording) {}

  std::int64_t run() {
    for (std::size_t lane = 0; lane < recording_.lanes.size(); ++lane) {
      if (!recording_.lanes[lane].device) collect(lane);
    }
    std::int64_t unrelated = 0;
    for (auto& [what, sides] : sides_) {
      if (!relate(sides)) unrelated += std::ssize(sides.ranges);
    }
    return unrelated;
  }

 private:
  static bool says_nothing(const Event& event) { return event.unit == 0 && event.phase == 0; }

  void collect(std::size_t lane) {
    for (std::size_t i = recording_.lane_begin[lane]; i < recording_.lane_begin[lane + 1]; ++i) {
      const std::uint32_t size = recording_.links[i].collective_size;
      if (size == 0) continue;
      const std::string& name = recording_.strings[recording_.events[i].name];
      Sides& sides = sides_[{what_is(name), size}];
      (name.starts_with(kRange) ? sides.ranges : sides.calls)
          .push_back(static_cast<std::uint32_t>(i));
    }
  }

  // Each call has one range, and no call was made while an equal one's range had not begun, unless
  // both are of the same unit and phase: then the order of the ranges is that of the calls.
  bool relate(Sides& sides) {
    const auto by_start = [this](std::uint32_t a, std::uint32_t b) {
      return recording_.events[a].start_ns < recording_.events[b].start_ns;
    };
    std::stable_sort(sides.calls.begin(), sides.calls.end(), by_start);
    std::stable_sort(sides.ranges.begin(), sides.ranges.end(), by_start);
    if (sides.calls.size() != sides.ranges.size()) return false;
    for (std::size_t i = 0; i < sides.calls.size(); ++i) {
      const Event& call = event(sides.calls[i]);
      const Event& range = event(sides.ranges[i]);
      if (range.start_ns < call.start_ns) return false;
      if (i + 1 == sides.calls.size()) break;
      const Event& next = event(sides.calls[i + 1]);
      const bool is_equal = next.unit == call.unit && next.phase == call.phase;
      if (next.start_ns < range.start_ns && !is_equal) return false;
    }
    for (std::size_t i = 0; i < sides.calls.size(); ++i) {
      const Event& call = event(sides.calls[i]);
      Event& range = recording_.events[sides.ranges[i]];
      if (!says_nothing(range)) continue;
      range.unit = call.unit;
      range.phase = call.phase;
      range.step = call.step;
    }
    return true;
  }

  const Event& event(std::uint32_t index) const { return recording_.events[index]; }

  Collected& recording_;
  std::map<std::pair<What, std::uint32_t>, Sides> sides_;
};

}  // namespace

std::uint32_t collective_size_tag(const RawEvent& event) {
  const bool is_call = event.name.starts_with(kCall);
  if (!is_call && !event.name.starts_with(kRange)) return 0;
  if (what_is(event.name) == What::nothing) return 0;
  const Arguments arguments(event);
  // Calls name the output first, except those that work in place on a list of one.
  const auto elements = event.name == "c10d::allreduce_" ? arguments.elements_of_only(0)
                        : is_call                        ? arguments.elements(1)
                                                         : arguments.elements(0);
  return elements ? std::max<std::uint32_t>(1, static_cast<std::uint32_t>(*elements)) : 0;
}

std::int64_t relate_background_collectives(Collected& recording) {
  return Relation(recording).run();
}

}  // namespace foreshard::traces::kineto
