#include "traces/meaning/work_causes.hpp"

#include <algorithm>
#include <set>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "models/base/statistics.hpp"

namespace foreshard::traces {
namespace {

constexpr std::int64_t kMostLatencyNs = 100'000;  // a longer one is no latency of a launch
constexpr std::int64_t kMostGapNs = 5'000;        // likewise of a gap between two kernels

// Works of a device that have begun, by their ends: those that are not over, and those that were over last.
class Begun {
 public:
  void add(std::int64_t end, std::uint32_t work) { by_end_.emplace(end, work); }

  // What ended by `since` is not asked for again, but for the last of it.
  void forget(std::int64_t since) {
    while (by_end_.size() > 1 && std::next(by_end_.begin())->first <= since) {
      by_end_.erase(by_end_.begin());
    }
  }

  // The last that was over by `now`, if later than `since`; the first that is over later. Of those that `is_asked`.
  template <typename IsAsked>
  std::int32_t last_over(std::int64_t now, std::int64_t since, const IsAsked& is_asked) const {
    auto at = by_end_.upper_bound({now, std::numeric_limits<std::uint32_t>::max()});
    while (at != by_end_.begin() && (--at)->first > since) {
      if (is_asked(at->second)) return static_cast<std::int32_t>(at->second);
    }
    return kNone;
  }
  template <typename IsAsked>
  std::int32_t first_not_over(std::int64_t now, const IsAsked& is_asked) const {
    for (auto at = by_end_.upper_bound({now, std::numeric_limits<std::uint32_t>::max()});
         at != by_end_.end(); ++at) {
      if (is_asked(at->second)) return static_cast<std::int32_t>(at->second);
    }
    return kNone;
  }

 private:
  std::set<std::pair<std::int64_t, std::uint32_t>> by_end_;
};

class CauseFinder {
 public:
  CauseFinder(std::span<const LaunchedWork> works, const CauseTolerances& tolerances)
      : works_(works), tolerances_(tolerances) {
    causes_.of.resize(works.size());
  }

  WorkCauses find() {
    find_order();
    std::vector<Begun> begun(causes_.devices.size());
    for (std::uint32_t i = 0; i < works_.size(); ++i) {
      const LaunchedWork& work = works_[i];
      Begun& others = begun[work.device];
      others.forget(work.start_ns - tolerances_.far_ns);
      find_cause(i, others);
      others.add(work.end_ns, i);
    }
    return std::move(causes_);
  }

 private:
  // Of every work the one before it; of devices, works by end and usual delays.
  void find_order() {
    std::vector<std::int32_t> last;  // of each stream
    std::vector<std::vector<std::int64_t>> latencies, gaps;
    for (std::uint32_t i = 0; i < works_.size(); ++i) {
      const LaunchedWork& work = works_[i];
      if (last.size() <= work.stream) last.resize(work.stream + 1, kNone);
      if (causes_.devices.size() <= work.device) {
        causes_.devices.resize(work.device + 1);
        latencies.resize(work.device + 1);
        gaps.resize(work.device + 1);
      }
      causes_.devices[work.device].by_end.push_back(i);
      const std::int32_t before = causes_.of[i].before =
          std::exchange(last[work.stream], static_cast<std::int32_t>(i));
      const std::int64_t gap = gap_of(work, before), delay = delay_of(work);
      if (gap >= 0 && gap < kMostGapNs) gaps[work.device].push_back(gap);
      if (!was_queued(work, before) && delay >= 0 && delay < kMostLatencyNs) {
        latencies[work.device].push_back(delay);
      }
    }
    for (std::size_t d = 0; d < causes_.devices.size(); ++d) {
      WorkCauses::Device& device = causes_.devices[d];
      const auto key = [&](std::uint32_t w) { return std::pair(works_[w].end_ns, w); };
      std::sort(device.by_end.begin(), device.by_end.end(),
                [&](std::uint32_t a, std::uint32_t b) { return key(a) < key(b); });
      if (!latencies[d].empty()) device.launch_latency_ns = median(std::move(latencies[d]));
      if (!gaps[d].empty()) device.gap_ns = median(std::move(gaps[d]));
    }
  }

  static constexpr std::int64_t kForever = std::numeric_limits<std::int64_t>::max();

  const LaunchedWork& at(std::int32_t work) const { return works_[static_cast<std::size_t>(work)]; }
  std::int64_t gap_of(const LaunchedWork& work, std::int32_t before) const {
    return before == kNone ? kForever : work.start_ns - at(before).end_ns;
  }
  static bool is_launched(const LaunchedWork& work) {
    return work.launched_ns != LaunchedWork::kNotLaunched && work.launched_ns <= work.start_ns;
  }
  static std::int64_t delay_of(const LaunchedWork& work) {
    return is_launched(work) ? work.start_ns - work.launched_ns : kForever;
  }
  bool was_queued(const LaunchedWork& work, std::int32_t before) const {
    return before != kNone && (!is_launched(work) || at(before).end_ns > work.launched_ns);
  }

  auto is_other_than(const LaunchedWork& work) const {
    return [this, stream = work.stream](std::uint32_t other) {
      return works_[other].stream != stream;
    };
  }

  void find_cause(std::uint32_t index, const Begun& begun) {
    using Kind = WorkCause::Kind;
    const LaunchedWork& work = works_[index];
    WorkCause& cause = causes_.of[index];
    const WorkCauses::Device& device = causes_.devices[work.device];
    const std::int64_t gap = gap_of(work, cause.before), delay = delay_of(work);
    const bool queued = was_queued(work, cause.before);
    const std::int32_t nearest = nearest_of_others(work, begun);
    const std::int64_t distance = nearest == kNone ? kForever : distance_of(work, nearest);
    const auto set = [&cause](Kind kind, std::int32_t awaited) {
      cause.kind = kind;
      cause.work = awaited;
    };
    if (work.was_told_to_wait && distance < std::min(gap, delay)) return set(Kind::other, nearest);
    if (queued && gap <= device.gap_ns + tolerances_.close_ns)
      return set(Kind::before, cause.before);
    if (!queued && delay <= device.launch_latency_ns + tolerances_.close_ns)
      return set(Kind::launch, kNone);

    if (distance <= tolerances_.close_ns) return set(Kind::other, nearest);
    const bool was_idle = !queued || gap > tolerances_.far_ns;
    if (was_idle && work.start_ns <= work.returned_ns + device.launch_latency_ns)
      return set(Kind::launch, kNone);
    if (queued && gap <= tolerances_.far_ns) {
      return distance < gap ? set(Kind::other, nearest) : set(Kind::before, cause.before);
    }
    if (const std::int64_t late = delay - device.launch_latency_ns;
        !queued && late <= tolerances_.far_ns) {
      return distance < late ? set(Kind::other, nearest) : set(Kind::launch, kNone);
    }
    if (nearest != kNone) return set(Kind::other, nearest);
    if (tolerances_.may_leave_room) {
      const std::int32_t running = begun.first_not_over(work.start_ns, is_other_than(work));
      if (running != kNone) return set(Kind::other, running);
    }
    set(Kind::unexplained,
        begun.last_over(work.start_ns, -kForever, [](std::uint32_t) { return true; }));
  }

  std::int64_t distance_of(const LaunchedWork& work, std::int32_t other) const {
    return std::abs(work.start_ns - at(other).end_ns);
  }

  // What ended nearest to the work's start on another stream, neither before its own stream was free nor before
  // the launch.
  std::int32_t nearest_of_others(const LaunchedWork& work, const Begun& begun) const {
    const std::int64_t now = work.start_ns;
    const std::int32_t before = causes_.of[static_cast<std::size_t>(&work - works_.data())].before;
    std::int64_t since = std::max(now - tolerances_.far_ns, work.launched_ns);
    if (before != kNone) since = std::max(since, at(before).end_ns);
    const std::int32_t over = begun.last_over(now, since, is_other_than(work));
    const std::int32_t next = begun.first_not_over(now, is_other_than(work));
    if (next == kNone || distance_of(work, next) > tolerances_.early_ns) return over;
    return over == kNone || distance_of(work, next) < distance_of(work, over) ? next : over;
  }

  std::span<const LaunchedWork> works_;
  CauseTolerances tolerances_;
  WorkCauses causes_;
};

// When a stream was told to wait: on the device's clock in our own recordings, when the host did so in others.
class StreamWaits {
 public:
  StreamWaits(const Trace& trace, std::span<const std::uint32_t> events) {
    for (const std::uint32_t event : events) {
      const Event& e = trace.events[event];
      if (e.kind == EventKind::wait) times_[static_cast<std::uint32_t>(e.lane)].push_back(e.end_ns);
    }
    for (auto& [stream, times] : times_) std::sort(times.begin(), times.end());
  }

  bool between(std::uint32_t stream, std::int64_t since, std::int64_t until) const {
    const auto times = times_.find(stream);
    if (times == times_.end()) return false;
    const auto wait = std::upper_bound(times->second.begin(), times->second.end(), until);
    return wait != times->second.begin() && *std::prev(wait) >= since;
  }

 private:
  std::unordered_map<std::uint32_t, std::vector<std::int64_t>> times_;
};

}  // namespace

DeviceWork device_work(const Trace& trace, const Launches& launches) {
  std::vector<std::uint32_t> events;
  for (std::size_t i = 0; i < trace.events.size(); ++i) {
    const Event& e = trace.events[i];
    const bool is_asked = is_device_work(e.kind) || e.kind == EventKind::wait;
    if (is_asked && trace.lanes[static_cast<std::size_t>(e.lane)].device) {
      events.push_back(static_cast<std::uint32_t>(i));
    }
  }
  return device_work(trace, launches, events);
}

DeviceWork device_work(const Trace& trace, const Launches& launches,
                       std::span<const std::uint32_t> events) {
  DeviceWork device;
  for (const Lane& lane : trace.lanes) device.ranks.push_back(lane.rank);
  std::ranges::sort(device.ranks);
  device.ranks.erase(std::unique(device.ranks.begin(), device.ranks.end()), device.ranks.end());

  std::vector<std::tuple<std::int64_t, std::int64_t, std::uint32_t>> order;
  for (const std::uint32_t event : events) {
    const Event& e = trace.events[event];
    if (e.kind == EventKind::wait) continue;
    order.emplace_back(e.start_ns, std::max(e.start_ns, e.end_ns), event);
  }
  std::sort(order.begin(), order.end());

  const StreamWaits waits(trace, events);
  std::vector<std::int32_t> last(trace.lanes.size(), kNone);
  device.works.reserve(order.size());
  device.events.reserve(order.size());
  for (const auto& [start, end, event] : order) {
    const auto stream = static_cast<std::uint32_t>(trace.events[event].lane);
    LaunchedWork work{.start_ns = start,
                      .end_ns = end,
                      .stream = stream,
                      .device = device.device_of(trace.lanes[stream].rank)};
    if (const std::int32_t call = launches.of(event); call != Launches::kUnknown) {
      const Event& its = trace.events[static_cast<std::size_t>(call)];
      work.launched_ns = std::min(start, its.start_ns);
      if (trace.events[event].kind != EventKind::memory) work.returned_ns = its.end_ns;
    }
    const std::int32_t before =
        std::exchange(last[stream], static_cast<std::int32_t>(device.works.size()));
    constexpr std::int64_t kStart = std::numeric_limits<std::int64_t>::min();
    const LaunchedWork* const previous =
        before == kNone ? nullptr : &device.works[static_cast<std::size_t>(before)];
    work.was_told_to_wait =
        waits.between(stream, previous == nullptr ? kStart : previous->end_ns, start) ||
        waits.between(stream, previous == nullptr ? kStart : previous->launched_ns,
                      work.launched_ns);
    device.works.push_back(work);
    device.events.push_back(event);
  }
  return device;
}

bool is_own(const Trace& trace) {
  const auto source = trace.metadata.find("source");
  return source == trace.metadata.end() || source->second.empty();
}

CauseTolerances tolerances_of(const Trace& trace) {
  const bool is_of_gpus = trace.metadata.contains("compute_capability");
  return is_own(trace) && !is_of_gpus ? kTolerancesOfThreads : CauseTolerances{};
}

std::int32_t WorkCauses::last_over(std::span<const LaunchedWork> works, std::uint32_t device,
                                   std::int64_t until, std::int64_t since) const {
  if (device >= devices.size()) return kNone;
  const std::vector<std::uint32_t>& by_end = devices[device].by_end;
  const auto after =
      std::upper_bound(by_end.begin(), by_end.end(), until,
                       [&](std::int64_t ns, std::uint32_t w) { return ns < works[w].end_ns; });
  if (after == by_end.begin() || works[*std::prev(after)].end_ns <= since) return kNone;
  return static_cast<std::int32_t>(*std::prev(after));
}

WorkCauses work_causes(std::span<const LaunchedWork> works, const CauseTolerances& tolerances) {
  return CauseFinder(works, tolerances).find();
}

}  // namespace foreshard::traces
