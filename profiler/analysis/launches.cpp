#include "profiler/analysis/launches.hpp"

#include <algorithm>
#include <compare>
#include <utility>
#include <vector>

#include "traces/input/bounded_sum.hpp"

namespace foreshard::profiler {

using traces::bounded_sum;
using traces::Event;

namespace {

// A call and when the first of what it launched began: a graph is launched once, whatever it holds.
struct Launched {
  std::int32_t rank = 0, call = 0;
  std::int64_t start_ns = 0;
  auto operator<=>(const Launched&) const = default;
};

}  // namespace

std::map<std::int32_t, LaunchStatistics> launch_statistics(const traces::Trace& trace,
                                                           const Launches& launches) {
  std::map<std::int32_t, LaunchStatistics> ranks;
  std::vector<Launched> all;
  for (std::size_t i = 0; i < trace.events.size(); ++i) {
    const Event& work = trace.events[i];
    if (!traces::is_device_work(work.kind)) continue;
    const std::int32_t rank = trace.lanes[static_cast<std::size_t>(work.lane)].rank;
    LaunchStatistics& statistics = ranks[rank];
    if (launches.of(i) == Launches::kUnknown) {
      ++statistics.unknown;
      continue;
    }
    all.push_back({rank, launches.of(i), work.start_ns});
  }
  std::sort(all.begin(), all.end());
  const auto is_one_call = [](const Launched& a, const Launched& b) {
    return a.rank == b.rank && a.call == b.call;
  };
  all.erase(std::unique(all.begin(), all.end(), is_one_call), all.end());
  std::map<std::int32_t, std::vector<std::pair<std::int64_t, int>>> changes;  // of the queue
  for (const Launched& one : all) {
    const Event& call = trace.events[static_cast<std::size_t>(one.call)];
    LaunchStatistics& statistics = ranks[one.rank];
    ++statistics.launches;
    statistics.call_ns = bounded_sum(statistics.call_ns, call.end_ns - call.start_ns);
    statistics.delay_ns =
        bounded_sum(statistics.delay_ns, std::max<std::int64_t>(one.start_ns - call.start_ns, 0));
    if (one.start_ns >= call.start_ns) {
      changes[one.rank].emplace_back(call.start_ns, 1);
      changes[one.rank].emplace_back(one.start_ns, -1);
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
