#include "profiler/analysis/launches.hpp"

#include <algorithm>

#include "traces/input/bounded_sum.hpp"

namespace foreshard::profiler {

using traces::bounded_sum;
using traces::Event;

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
