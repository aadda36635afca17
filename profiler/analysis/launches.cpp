#include "profiler/analysis/launches.hpp"

#include <algorithm>
#include <tuple>

#include "traces/bounded_sum.hpp"

namespace foreshard::profiler {
namespace {

using traces::bounded_sum;
using traces::Event;
using traces::EventKind;

// What a call and the work it launched have in common.
struct Cause {
  std::int32_t rank;
  std::int32_t step;  // of an instruction; 0 with a correlation
  std::int64_t number;
  bool operator<(const Cause& other) const {
    return std::tie(rank, step, number) < std::tie(other.rank, other.step, other.number);
  }
  bool operator==(const Cause&) const = default;
};

bool has_cause(const Event& e) {
  return e.correlation != 0 || e.instruction != traces::kNone;
}

bool can_launch(EventKind kind) {
  return kind == EventKind::runtime || kind == EventKind::host;
}

Cause cause_of(const traces::Trace& trace, const Event& e) {
  const std::int32_t rank = trace.lanes[static_cast<std::size_t>(e.lane)].rank;
  return e.correlation != 0 ? Cause{rank, 0, e.correlation} : Cause{rank, e.step, e.instruction};
}

}  // namespace

Launches::Launches(const traces::Trace& trace) : launch_(trace.events.size(), kUnknown) {
  std::vector<std::pair<Cause, std::int32_t>> calls;
  for (std::size_t i = 0; i < trace.events.size(); ++i) {
    const Event& e = trace.events[i];
    if (can_launch(e.kind) && has_cause(e)) {
      calls.emplace_back(cause_of(trace, e), static_cast<std::int32_t>(i));
    }
  }
  std::sort(calls.begin(), calls.end());
  for (std::size_t i = 0; i < trace.events.size(); ++i) {
    const Event& e = trace.events[i];
    if (!traces::is_device_work(e.kind) || !has_cause(e)) continue;
    const Cause cause = cause_of(trace, e);
    const auto call = std::lower_bound(calls.begin(), calls.end(), std::pair(cause, kUnknown));
    if (call != calls.end() && call->first == cause) launch_[i] = call->second;
  }
}

std::map<std::int32_t, LaunchStatistics> launch_statistics(const traces::Trace& trace,
                                                           const Launches& launches) {
  std::map<std::int32_t, LaunchStatistics> ranks;
  std::map<std::int32_t, std::vector<std::pair<std::int64_t, int>>> changes;  // of the queue
  for (std::size_t i = 0; i < trace.events.size(); ++i) {
    const Event& work = trace.events[i];
    if (!traces::is_device_work(work.kind)) continue;
    const std::int32_t rank = trace.lanes[static_cast<std::size_t>(work.lane)].rank;
    LaunchStatistics& statistics = ranks[rank];
    if (launches.of(i) == Launches::kUnknown) {
      ++statistics.unknown;
      continue;
    }
    const Event& call = trace.events[static_cast<std::size_t>(launches.of(i))];
    ++statistics.launches;
    statistics.call_ns = bounded_sum(statistics.call_ns, call.end_ns - call.start_ns);
    statistics.delay_ns =
        bounded_sum(statistics.delay_ns, std::max<std::int64_t>(work.start_ns - call.start_ns, 0));
    if (work.start_ns >= call.start_ns) {
      changes[rank].emplace_back(call.start_ns, 1);
      changes[rank].emplace_back(work.start_ns, -1);
    }
  }
  for (auto& [rank, queue] : changes) {
    std::sort(queue.begin(), queue.end());  // at one moment what begins leaves first
    std::int64_t length = 0;
    for (const auto& [time, change] : queue) {
      length += change;
      ranks[rank].longest_queue = std::max(ranks[rank].longest_queue, length);
    }
  }
  return ranks;
}

}  // namespace foreshard::profiler
