#include "profiler/analysis/critical_path.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <tuple>
#include <unordered_map>

#include "traces/input/bounded_sum.hpp"
#include "traces/meaning/collectives.hpp"
#include "traces/meaning/unrecorded_waits.hpp"
#include "traces/meaning/work_causes.hpp"

namespace foreshard::profiler {
namespace {

using traces::bounded_sum;
using traces::Event;
using traces::EventKind;

constexpr std::int32_t kNobody = -1;
constexpr std::int64_t kWhenever = std::numeric_limits<std::int64_t>::max();

constexpr traces::StringId kBetweenOperators = -1;  // in place of a name

// Ranges and functions enclose work and do none themselves; a stream's wait is the absence of work.
bool is_on_paths(EventKind kind) {
  return kind != EventKind::range && kind != EventKind::stack && kind != EventKind::wait;
}

// Events by their end, for "which was over last, by then".
struct ByEnd {
  struct Ended {
    std::int64_t ns;
    std::int32_t event;
  };
  std::vector<Ended> events;

  // The last one that is over by `time`, has begun before it and is not `except`.
  std::int32_t last_over(const traces::Trace& trace, std::int64_t time, std::int32_t except) const {
    auto after = std::ranges::upper_bound(events, time, {}, &Ended::ns);
    while (after != events.begin()) {
      const std::int32_t candidate = (--after)->event;
      if (candidate != except &&
          trace.events[static_cast<std::size_t>(candidate)].start_ns < time) {
        return candidate;
      }
    }
    return kNobody;
  }
};

class PathFinder {
 public:
  PathFinder(const traces::Trace& trace, const Launches& launches)
      : trace_(trace),
        launches_(launches),
        lanes_(trace.lanes.size()),
        is_counted_(trace.events.size()),
        collectives_(traces::collectives(trace)),
        device_(traces::device_work(trace, launches)),
        causes_(traces::work_causes(device_.works, traces::tolerances_of(trace))),
        waits_(calls_of(trace), device_.works),
        work_of_(trace.events.size(), kNobody) {
    for (std::size_t w = 0; w < device_.events.size(); ++w) {
      work_of_[device_.events[w]] = static_cast<std::int32_t>(w);
    }
    // Of events of several lanes that end together the first lane's comes last.
    std::vector<std::tuple<std::int64_t, std::int32_t, std::int32_t>> ends;
    for (std::size_t i = 0; i < trace.events.size(); ++i) {
      const Event& e = trace.events[i];
      if (is_on_paths(e.kind)) ends.emplace_back(e.end_ns, -e.lane, static_cast<std::int32_t>(i));
    }
    std::ranges::sort(ends);
    for (const auto& [end, minus_lane, i] : ends) {
      const traces::Lane& lane = trace.lanes[static_cast<std::size_t>(-minus_lane)];
      lanes_[static_cast<std::size_t>(-minus_lane)].events.push_back({end, i});
      sides_[{lane.rank, lane.device}].events.push_back({end, i});
    }
    for (std::size_t c = 0; c < collectives_.size(); ++c) {
      for (const auto& [rank, member] : collectives_[c].events) collective_of_[member] = c;
    }
    find_calls();
  }

  CriticalPath find(std::int64_t start, std::int64_t end) {
    CriticalPath path;
    std::int32_t at = kNobody;
    for (const auto& [side, by_end] : sides_) {
      at = later(at, by_end.last_over(trace_, end, kNobody));
    }
    if (at == kNobody || event(at).end_ns <= start) return path;
    path.start_ns = start;
    path.end_ns = event(at).end_ns;
    std::int64_t until = path.end_ns;  // what is later is on the path already
    while (at != kNobody && until > start) {
      const Event& e = event(at);
      const auto [own_start, before] = link(at, until);
      const std::int64_t begin = std::clamp(own_start, start, until);
      if (begin < until) add_piece(at, until - begin);
      path.events.push_back(at);
      until = begin;
      const std::int64_t over = before == kNobody ? start : std::max(start, event(before).end_ns);
      // Before it was called, those that called it were at work.
      for (std::int32_t p = parent(at); p != kNobody && own_start <= e.start_ns && over < until;
           p = parent(p)) {
        const std::int64_t called = std::max(over, event(p).start_ns);
        if (called < until) add_piece(p, until - called);
        until = std::min(until, called);
      }
      if (over < until) {
        const bool is_of_the_host =
            !lane_of(e).device && (before == kNobody || !lane_of(event(before)).device);
        PathPart& gap = is_of_the_host ? part(kBetweenOperators, name(EventKind::host))
                                       : part(e.name, "waiting");
        ++gap.count;
        gap.ns = bounded_sum(gap.ns, until - over);
        until = over;
      }
      at = before;
    }
    std::reverse(path.events.begin(), path.events.end());
    for (auto& [key, part] : parts_) path.parts.push_back(std::move(part));
    std::sort(path.parts.begin(), path.parts.end(), [](const PathPart& a, const PathPart& b) {
      return std::tie(b.ns, a.name, a.kind) < std::tie(a.ns, b.name, b.kind);
    });
    return path;
  }

 private:
  // What an event of a host thread was called by, and the last that it called itself.
  struct Calls {
    std::int32_t parent = kNobody, last_child = kNobody;
  };

  // A trace has a lane's events in the order of their starts.
  void find_calls() {
    calls_.resize(trace_.events.size());
    std::vector<std::int32_t> open;
    for (std::size_t i = 0; i < trace_.events.size(); ++i) {
      const Event& e = trace_.events[i];
      if (lane_of(e).device || !is_on_paths(e.kind)) continue;
      while (!open.empty() &&
             (event(open.back()).lane != e.lane || event(open.back()).end_ns < e.end_ns ||
              event(open.back()).end_ns <= e.start_ns)) {
        open.pop_back();
      }
      const auto id = static_cast<std::int32_t>(i);
      if (!open.empty()) {
        calls_[i].parent = open.back();
        std::int32_t& last = calls_[static_cast<std::size_t>(open.back())].last_child;
        if (last == kNobody || event(last).end_ns <= e.end_ns) last = id;
      }
      open.push_back(id);
    }
  }
  std::int32_t parent(std::int32_t i) const { return calls_[static_cast<std::size_t>(i)].parent; }

  Event event(std::int32_t i) const { return trace_.events[static_cast<std::size_t>(i)]; }
  const traces::Lane& lane_of(const Event& e) const {
    return trace_.lanes[static_cast<std::size_t>(e.lane)];
  }
  std::int32_t rank_of(const Event& e) const { return lane_of(e).rank; }
  std::int32_t later(std::int32_t a, std::int32_t b) const {
    if (a == kNobody || b == kNobody) return a == kNobody ? b : a;
    return event(b).end_ns > event(a).end_ns ? b : a;
  }

  // Of the hosts, by start.
  std::vector<traces::CallSpan> calls_of(const traces::Trace& trace) const {
    std::vector<traces::CallSpan> calls;
    for (const Event& e : trace.events) {
      const traces::Lane& lane = trace.lanes[static_cast<std::size_t>(e.lane)];
      if (lane.device || !is_on_paths(e.kind)) continue;
      calls.push_back(
          {e.start_ns, e.end_ns, device_.device_of(lane.rank), e.kind == EventKind::host_wait});
    }
    std::ranges::stable_sort(calls, {}, &traces::CallSpan::start_ns);
    return calls;
  }

  // An operator is there in several pieces where the path goes through what it called.
  void add_piece(std::int32_t i, std::int64_t ns) {
    PathPart& its = part(event(i).name, name(event(i).kind));
    const bool is_first = !is_counted_[static_cast<std::size_t>(i)];
    is_counted_[static_cast<std::size_t>(i)] = true;
    its.count += is_first ? 1 : 0;
    its.ns = bounded_sum(its.ns, ns);
  }

  PathPart& part(traces::StringId name, std::string_view kind) {
    PathPart& part = parts_[{name, std::string(kind)}];
    if (part.count == 0) {
      part.name = name == kBetweenOperators ? "(between operators)" : trace_.strings[name];
      part.kind = kind;
    }
    return part;
  }

  // Since when an event did what it is on the path for until then, and what was over last of all that it
  // could have waited for. That began before `until`, so that a path goes back all the time: a call
  // that waits for the copy it has launched is met twice, after the copy and before it.
  struct Link {
    std::int64_t own_start;
    std::int32_t before;
  };
  Link link(std::int32_t at, std::int64_t until) const {
    const Event& e = event(at);
    if (e.kind == EventKind::host_wait) {
      // It ended because the device was done; what the device did meanwhile is on the path.
      const std::int32_t work = last_of(rank_of(e), true, std::min(e.end_ns, until));
      if (work != kNobody && event(work).end_ns > e.start_ns) return {e.end_ns, work};
    }
    const std::int32_t called = calls_[static_cast<std::size_t>(at)].last_child;
    if (called != kNobody && event(called).start_ns < until) return {event(called).end_ns, called};
    if (e.kind != EventKind::communication) return {e.start_ns, cause(at, until)};
    // The rank that came to the collective last has kept the others waiting.
    std::int32_t last = at;
    for (const auto& [rank, other] : collectives_[collective_of_.at(at)].events) {
      if (event(other).start_ns > event(last).start_ns &&
          event(other).start_ns < std::min(e.end_ns, until)) {
        last = other;
      }
    }
    return {event(last).start_ns, cause(last, until)};
  }

  std::int32_t cause(std::int32_t at, std::int64_t until) const {
    for (; parent(at) != kNobody; at = parent(at)) {
      const auto lane = static_cast<std::size_t>(event(at).lane);
      const std::int64_t begun = std::min(event(at).start_ns, until);
      const std::int32_t before = lanes_[lane].last_over(trace_, begun, at);
      const bool is_sibling =
          before != kNobody && event(before).start_ns >= event(parent(at)).start_ns;
      if (is_sibling) return before;
    }
    const std::int32_t work = work_of_[static_cast<std::size_t>(at)];
    if (work != kNobody) return cause_of_work(at, causes_.of[static_cast<std::size_t>(work)]);
    const Event& e = event(at);
    const std::int64_t begun = std::min(e.start_ns, until);
    const traces::Lane& lane = lane_of(e);
    if (!lane.device) return cause_of_call(lane.rank, begun);
    const std::int32_t last = lanes_[static_cast<std::size_t>(e.lane)].last_over(trace_, begun, at);
    return later(last, launch_of(at, begun));
  }

  std::int32_t cause_of_call(std::int32_t rank, std::int64_t begun) const {
    const std::int32_t last = last_of(rank, false, begun);
    if (last == kNobody) return last;
    const std::int32_t work = waits_.awaited(device_.device_of(rank), event(last).end_ns, begun);
    return work == kNobody ? last : event_of(work);
  }

  std::int32_t event_of(std::int32_t work) const {
    return static_cast<std::int32_t>(device_.events[static_cast<std::size_t>(work)]);
  }

  std::int32_t cause_of_work(std::int32_t at, const traces::WorkCause& cause) const {
    using Kind = traces::WorkCause::Kind;
    // A device's clock may be ahead of its host's: the call may be recorded later than the work.
    const std::int32_t launch = launch_of(at, kWhenever);
    if (cause.kind == Kind::launch) return launch;
    const std::int32_t awaited = cause.work == kNobody ? kNobody : event_of(cause.work);
    return cause.kind == Kind::unexplained ? later(launch, awaited) : awaited;
  }

  // The call that launched the event; nobody where it had not begun by then.
  std::int32_t launch_of(std::int32_t at, std::int64_t begun) const {
    const std::int32_t launch = launches_.of(static_cast<std::size_t>(at));
    return launch != Launches::kUnknown && event(launch).start_ns < begun ? launch : kNobody;
  }

  // Of all streams of a rank, or of all its host threads.
  std::int32_t last_of(std::int32_t rank, bool device, std::int64_t time) const {
    const auto side = sides_.find({rank, device});
    return side == sides_.end() ? kNobody : side->second.last_over(trace_, time, kNobody);
  }

  const traces::Trace& trace_;
  const Launches& launches_;
  std::vector<ByEnd> lanes_;
  std::map<std::pair<std::int32_t, bool>, ByEnd> sides_;  // of a rank: its device's, its host's
  std::vector<Calls> calls_;                              // of each event
  std::vector<bool> is_counted_;                          // likewise: in its part
  std::vector<traces::Collective> collectives_;
  std::unordered_map<std::int32_t, std::size_t> collective_of_;
  traces::DeviceWork device_;
  traces::WorkCauses causes_;
  traces::UnrecordedWaits waits_;
  std::vector<std::int32_t> work_of_;  // of each event, where it is work of a device
  std::map<std::pair<traces::StringId, std::string>, PathPart> parts_;
};

}  // namespace

CriticalPath critical_path(const traces::Trace& trace, const Launches& launches,
                           std::int64_t start_ns, std::int64_t end_ns) {
  return PathFinder(trace, launches).find(start_ns, end_ns);
}

}  // namespace foreshard::profiler
