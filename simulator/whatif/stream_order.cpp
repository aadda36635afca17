#include "simulator/whatif/stream_order.hpp"

#include <algorithm>
#include <tuple>
#include <utility>

#include "models/base/statistics.hpp"

namespace foreshard::simulator {

StreamOrder stream_order(const RecordedRun& run) {
  StreamOrder order;
  order.ranks.resize(run.ranks);
  if (run.is_own) order.most_delay_ns = kFarOfThreadsNs;
  std::vector<std::int32_t> last(run.lane_ranks.size(), kNotRecorded);
  std::vector<std::vector<std::int64_t>> latencies(run.ranks), gaps(run.ranks);
  for (std::uint32_t i = 0; i < run.works.size(); ++i) {
    const RecordedWork& work = run.works[i];
    const std::uint32_t rank = run.rank_of(work);
    const std::int32_t before = std::exchange(last[work.stream], static_cast<std::int32_t>(i));
    order.before.push_back(before);
    order.ranks[rank].by_end.push_back(i);
    const RecordedWork* const previous =
        before == kNotRecorded ? nullptr : &run.works[static_cast<std::size_t>(before)];
    if (previous != nullptr) {
      const std::int64_t gap = work.start_ns - previous->end_ns;
      if (gap >= 0 && gap < kMostGapNs) gaps[rank].push_back(gap);
    }
    if (work.call == kNotRecorded) continue;
    const std::int64_t launched = run.calls[static_cast<std::size_t>(work.call)].start_ns;
    const bool was_idle = previous == nullptr || previous->end_ns <= launched;
    const std::int64_t delay = work.start_ns - launched;
    if (was_idle && delay >= 0 && delay < kMostLatencyNs) latencies[rank].push_back(delay);
  }
  for (std::uint32_t r = 0; r < run.ranks; ++r) {
    DeviceTimes& rank = order.ranks[r];
    const auto key = [&](std::uint32_t w) { return std::pair(run.works[w].end_ns, w); };
    std::sort(rank.by_end.begin(), rank.by_end.end(),
              [&](std::uint32_t a, std::uint32_t b) { return key(a) < key(b); });
    if (!latencies[r].empty()) rank.launch_latency_ns = median(std::move(latencies[r]));
    if (!gaps[r].empty()) rank.gap_ns = median(std::move(gaps[r]));
  }
  return order;
}

}  // namespace foreshard::simulator
