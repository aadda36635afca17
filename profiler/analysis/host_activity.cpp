#include "profiler/analysis/host_activity.hpp"

#include <algorithm>

namespace foreshard::profiler {
namespace {

using traces::EventKind;

class Sweep {
 public:
  Sweep(const traces::Trace& trace, const traces::Interval& within)
      : trace_(trace), within_(within), time_(within.start_ns) {}

  void open(std::int32_t index) {
    const traces::Event event = at(index);
    close_until(event.start_ns);
    go_on_to(event.start_ns);
    open_.push_back(index);
  }

  std::vector<HostActivity> finish() {
    close_until(within_.end_ns);
    go_on_to(within_.end_ns);
    return std::move(activities_);
  }

 private:
  traces::Event at(std::int32_t index) const {
    return trace_.events[static_cast<std::size_t>(index)];
  }

  void close_until(std::int64_t time) {
    while (!open_.empty() && at(open_.back()).end_ns <= time) {
      go_on_to(at(open_.back()).end_ns);
      open_.pop_back();
    }
  }

  void go_on_to(std::int64_t time) {
    const std::int64_t begin = time_;
    time_ = std::clamp(time, time_, within_.end_ns);
    if (begin == time_ || open_.empty()) return;
    HostActivity now{begin,         time_,         open_.back(),
                     traces::kNone, traces::kNone, at(open_.back()).kind == EventKind::host_wait};
    for (auto index = open_.rbegin(); index != open_.rend(); ++index) {
      const EventKind kind = at(*index).kind;
      if (kind == EventKind::range && now.range == traces::kNone) now.range = *index;
      if (kind == EventKind::host && now.op == traces::kNone) now.op = *index;
    }
    activities_.push_back(now);
  }

  const traces::Trace& trace_;
  const traces::Interval within_;
  std::int64_t time_;
  std::vector<std::int32_t> open_;
  std::vector<HostActivity> activities_;
};

}  // namespace

std::vector<HostActivity> host_activity(const traces::Trace& trace, std::int32_t lane,
                                        const traces::Interval& within) {
  const auto by_lane = [](const traces::Event& e, std::int32_t of) { return e.lane < of; };
  const auto first = std::lower_bound(trace.events.begin(), trace.events.end(), lane, by_lane);
  Sweep sweep(trace, within);
  for (auto at = first; at != trace.events.end(); ++at) {
    const traces::Event event = *at;
    if (event.lane != lane || event.start_ns >= within.end_ns) break;
    if (event.kind != EventKind::stack && event.end_ns > within.start_ns) {
      sweep.open(static_cast<std::int32_t>(at - trace.events.begin()));
    }
  }
  return sweep.finish();
}

}  // namespace foreshard::profiler
