#include "profiler/analysis/compute_gaps.hpp"

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "models/base/statistics.hpp"
#include "traces/intervals.hpp"

namespace foreshard::profiler {
namespace {

using traces::Event;
using traces::EventKind;
using traces::Interval;

constexpr std::int64_t kUsualLaunchNs = 5'000, kMostLaunchNs = 100'000;

// The device events of one rank, and when its host threads were blocked.
struct RankWork {
  std::vector<std::pair<std::int64_t, std::int32_t>> events;  // by start, and which
  std::vector<Interval> compute, communication, memory;
  std::map<std::int32_t, std::vector<Interval>> blocked;  // by lane
};

class GapFinder {
 public:
  GapFinder(const traces::Trace& trace, const Launches& launches, RankWork& work,
            const Interval& within)
      : trace_(trace),
        launches_(launches),
        work_(work),
        within_(within),
        begins_together_(!trace.metadata.contains("source")) {}

  RankGaps find() {
    const auto compute = united(std::move(work_.compute));
    const auto communication = united(std::move(work_.communication));
    auto busy = compute;
    busy.insert(busy.end(), communication.begin(), communication.end());
    const auto computing_or_communicating = united(busy);
    busy.insert(busy.end(), work_.memory.begin(), work_.memory.end());
    busy = united(std::move(busy));
    add(GapCause::communication, length(communication) - overlap(communication, compute));
    add(GapCause::copies, length(busy) - length(computing_or_communicating));
    launch_ns_ = usual_launch(busy);
    for (auto& [lane, intervals] : work_.blocked) intervals = united(std::move(intervals));
    if (within_.start_ns < busy.front().start_ns) keep(within_.start_ns, busy.front().start_ns);
    for (std::size_t i = 1; i < busy.size(); ++i) idle(busy[i - 1].end_ns, busy[i].start_ns);
    return std::move(gaps_);
  }

 private:
  void add(GapCause cause, std::int64_t ns) { gaps_.sums[static_cast<std::size_t>(cause)] += ns; }

  // Nothing ran between these moments; something begins at the second one.
  void idle(std::int64_t begin, std::int64_t end) {
    const IdleGap gap = keep(begin, end);
    std::int64_t waited = 0;
    if (gap.lane != traces::kNone) {
      const std::int64_t late = std::min(call_of(next_)->start_ns, end);
      const auto blocked = work_.blocked.find(gap.lane);
      if (blocked != work_.blocked.end()) waited = overlap({{begin, late}}, blocked->second);
      add(GapCause::host_blocked, waited);
    }
    add(gap.cause, end - begin - waited);
  }

  IdleGap keep(std::int64_t begin, std::int64_t end) {
    const IdleGap gap = explained(begin, end);
    const IdleGap cut{std::max(begin, within_.start_ns), std::min(end, within_.end_ns), gap.cause,
                      gap.lane};
    if (cut.begin_ns < cut.end_ns) gaps_.idle.push_back(cut);
    return gap;
  }

  IdleGap explained(std::int64_t begin, std::int64_t end) {
    while (work_.events[next_].first < end) ++next_;
    const auto call = call_of(next_);
    if (!call) return {begin, end, GapCause::unknown, traces::kNone};
    const bool is_late = call->start_ns > begin;
    if (!is_late && begins_together_ && work(next_).kind == EventKind::communication) {
      return {begin, end, GapCause::other_ranks, traces::kNone};
    }
    if (is_late || is_being_launched(*call, begin)) {
      return {begin, end, GapCause::launch_bound, call->lane};
    }
    const bool is_short = end - begin <= kShortGapNs;
    return {begin, end, is_short ? GapCause::between_kernels : GapCause::dependency, traces::kNone};
  }

  // Of the first kernel that a call launches: when the device fell idle, what a launch takes had not passed, or the
  // call, which did other things as well, had not returned and launched it last.
  bool is_being_launched(const Event& call, std::int64_t begin) const {
    const Event next = work(next_);
    const bool is_first =
        next_ == 0 || launches_.of(event(next_)) != launches_.of(event(next_ - 1));
    if (!is_first || next.kind == EventKind::memory) return false;
    const bool is_last_of_call =
        call.end_ns > begin && next.start_ns <= call.end_ns + kUsualLaunchNs;
    return call.start_ns + launch_ns_ > begin || is_last_of_call;
  }

  // From a call to its work where that was launched to an idle device: the median.
  std::int64_t usual_launch(const std::vector<Interval>& busy) {
    std::vector<std::int64_t> delays;
    for (std::size_t i = 1; i < busy.size(); ++i) {
      const std::int64_t start = busy[i].start_ns;
      while (work_.events[next_].first < start) ++next_;
      const auto call = call_of(next_);
      if (call && call->start_ns >= busy[i - 1].end_ns && start - call->start_ns < kMostLaunchNs) {
        delays.push_back(start - call->start_ns);
      }
    }
    next_ = 0;
    return delays.empty() ? kUsualLaunchNs : median(std::move(delays));
  }

  std::size_t event(std::size_t n) const {
    return static_cast<std::size_t>(work_.events[n].second);
  }

  Event work(std::size_t n) const { return trace_.events[event(n)]; }

  std::optional<Event> call_of(std::size_t n) const {
    const std::int32_t call = launches_.of(event(n));
    if (call == Launches::kUnknown) return {};
    return trace_.events[static_cast<std::size_t>(call)];
  }

  const traces::Trace& trace_;
  const Launches& launches_;
  RankWork& work_;
  const Interval within_;
  const bool begins_together_;  // collectives, when all ranks have come to them
  RankGaps gaps_;
  std::size_t next_ = 0;
  std::int64_t launch_ns_ = kUsualLaunchNs;
};

}  // namespace

std::string_view name(GapCause cause) {
  static constexpr std::array<std::string_view, kGapCauses> kNames{
      "communication", "copies",          "host_blocked", "launch_bound",
      "other_ranks",   "between_kernels", "dependency",   "unknown"};
  return kNames[static_cast<std::size_t>(cause)];
}

std::map<std::int32_t, RankGaps> compute_gaps(const traces::Trace& trace, const Launches& launches,
                                              const std::map<std::int32_t, Interval>& within) {
  std::map<std::int32_t, RankWork> ranks;
  for (std::size_t i = 0; i < trace.events.size(); ++i) {
    const Event& e = trace.events[i];
    const bool is_work = traces::is_device_work(e.kind);
    if (!is_work && e.kind != EventKind::host_wait) continue;
    RankWork& rank = ranks[trace.lanes[static_cast<std::size_t>(e.lane)].rank];
    const Interval interval{e.start_ns, e.end_ns};
    if (is_work) rank.events.emplace_back(e.start_ns, static_cast<std::int32_t>(i));
    switch (e.kind) {
      case EventKind::compute: rank.compute.push_back(interval); break;
      case EventKind::communication: rank.communication.push_back(interval); break;
      case EventKind::memory: rank.memory.push_back(interval); break;
      default: rank.blocked[e.lane].push_back(interval); break;
    }
  }
  std::map<std::int32_t, RankGaps> gaps;
  for (auto& [rank, work] : ranks) {
    if (work.events.empty()) continue;
    std::ranges::sort(work.events);
    constexpr Interval kNothing{std::numeric_limits<std::int64_t>::max(), 0};
    const auto asked = within.find(rank);
    gaps[rank] =
        GapFinder(trace, launches, work, asked == within.end() ? kNothing : asked->second).find();
  }
  return gaps;
}

}  // namespace foreshard::profiler
