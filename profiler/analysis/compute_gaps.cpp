#include "profiler/analysis/compute_gaps.hpp"

#include <algorithm>
#include <tuple>
#include <vector>

#include "traces/intervals.hpp"

namespace foreshard::profiler {
namespace {

using traces::Event;
using traces::EventKind;
using traces::Interval;

// The device events of one rank by their start, and when its host threads were blocked.
struct RankWork {
  std::vector<std::int32_t> events;
  std::vector<Interval> compute, communication, memory;
  std::map<std::int32_t, std::vector<Interval>> blocked;  // by lane
};

class GapFinder {
 public:
  GapFinder(const traces::Trace& trace, const Launches& launches, RankWork& work)
      : trace_(trace), launches_(launches), work_(work) {}

  ComputeGaps find() {
    const auto compute = united(std::move(work_.compute));
    const auto communication = united(std::move(work_.communication));
    auto busy = compute;
    busy.insert(busy.end(), communication.begin(), communication.end());
    const auto computing_or_communicating = united(busy);
    busy.insert(busy.end(), work_.memory.begin(), work_.memory.end());
    busy = united(std::move(busy));
    add(GapCause::communication, length(communication) - overlap(communication, compute));
    add(GapCause::copies, length(busy) - length(computing_or_communicating));
    for (auto& [lane, intervals] : work_.blocked) intervals = united(std::move(intervals));
    for (std::size_t i = 1; i < busy.size(); ++i) idle(busy[i - 1].end_ns, busy[i].start_ns);
    return gaps_;
  }

 private:
  void add(GapCause cause, std::int64_t ns) { gaps_[static_cast<std::size_t>(cause)] += ns; }

  // Nothing ran between these moments; something begins at the second one.
  void idle(std::int64_t begin, std::int64_t end) {
    while (trace_.events[static_cast<std::size_t>(work_.events[next_])].start_ns < end) ++next_;
    const auto first = static_cast<std::size_t>(work_.events[next_]);
    const Event& work = trace_.events[first];
    if (launches_.of(first) == Launches::kUnknown) return add(GapCause::unknown, end - begin);
    const Event& call = trace_.events[static_cast<std::size_t>(launches_.of(first))];
    if (call.start_ns > begin) {
      const std::int64_t late = std::min(call.start_ns, end);
      const auto blocked = work_.blocked.find(call.lane);
      const std::int64_t waited =
          blocked == work_.blocked.end() ? 0 : overlap({{begin, late}}, blocked->second);
      add(GapCause::host_blocked, waited);
      return add(GapCause::launch_bound, end - begin - waited);
    }
    if (work.kind == EventKind::communication) return add(GapCause::other_ranks, end - begin);
    add(end - begin <= kShortGapNs ? GapCause::between_kernels : GapCause::dependency, end - begin);
  }

  const traces::Trace& trace_;
  const Launches& launches_;
  RankWork& work_;
  ComputeGaps gaps_{};
  std::size_t next_ = 0;
};

}  // namespace

std::string_view name(GapCause cause) {
  static constexpr std::array<std::string_view, kGapCauses> kNames{
      "communication", "copies",          "host_blocked", "launch_bound",
      "other_ranks",   "between_kernels", "dependency",   "unknown"};
  return kNames[static_cast<std::size_t>(cause)];
}

std::map<std::int32_t, ComputeGaps> compute_gaps(const traces::Trace& trace,
                                                 const Launches& launches) {
  std::map<std::int32_t, RankWork> ranks;
  for (std::size_t i = 0; i < trace.events.size(); ++i) {
    const Event& e = trace.events[i];
    const bool is_work = traces::is_device_work(e.kind);
    if (!is_work && e.kind != EventKind::host_wait) continue;
    RankWork& rank = ranks[trace.lanes[static_cast<std::size_t>(e.lane)].rank];
    const Interval interval{e.start_ns, e.end_ns};
    if (is_work) rank.events.push_back(static_cast<std::int32_t>(i));
    switch (e.kind) {
      case EventKind::compute: rank.compute.push_back(interval); break;
      case EventKind::communication: rank.communication.push_back(interval); break;
      case EventKind::memory: rank.memory.push_back(interval); break;
      default: rank.blocked[e.lane].push_back(interval); break;
    }
  }
  std::map<std::int32_t, ComputeGaps> gaps;
  for (auto& [rank, work] : ranks) {
    if (work.events.empty()) continue;
    std::sort(work.events.begin(), work.events.end(), [&](std::int32_t a, std::int32_t b) {
      const Event &x = trace.events[static_cast<std::size_t>(a)],
                  &y = trace.events[static_cast<std::size_t>(b)];
      return std::tie(x.start_ns, a) < std::tie(y.start_ns, b);
    });
    gaps[rank] = GapFinder(trace, launches, work).find();
  }
  return gaps;
}

}  // namespace foreshard::profiler
