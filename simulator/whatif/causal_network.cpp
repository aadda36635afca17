#include "simulator/whatif/causal_network.hpp"

#include <algorithm>
#include <limits>
#include <tuple>

#include "simulator/whatif/full_queues.hpp"
#include "traces/meaning/unrecorded_waits.hpp"
#include "traces/meaning/work_causes.hpp"

namespace foreshard::simulator {
namespace {

constexpr Moment kNoMoment = std::numeric_limits<Moment>::max();
constexpr std::int64_t kWaitingCallNs = 5'000;  // at most, of a waiting call that need not wait

// What is looked at, in the order of time; at the same time in the order of these phases.
enum Phase : std::uint8_t { kCallEnds, kCallStarts, kWorkStarts, kStepBegins, kStepEnds };
struct Item {
  std::int64_t ns;
  std::uint32_t index;
  Phase phase;
  bool operator<(const Item& other) const {
    return std::tie(ns, phase, index) < std::tie(other.ns, other.phase, other.index);
  }
};

// A moment, and when it was in the recording.
struct Recorded {
  Moment moment = kNoMoment;
  std::int64_t ns = std::numeric_limits<std::int64_t>::min();
  bool exists() const { return moment != kNoMoment; }
};

class NetworkBuilder {
 public:
  NetworkBuilder(const RecordedRun& run, Stragglers stragglers)
      : run_(run),
        stragglers_(stragglers),
        causes_(traces::work_causes(run.launched, run.tolerances)),
        unrecorded_waits_(spans_of(run), run.launched),
        queued_(full_queues(run)),
        ranks_(run.ranks),
        threads_(run.lane_ranks.size()),
        last_of_stream_(run.lane_ranks.size(), kNotRecorded),
        work_start_(run.works.size(), kNoMoment),
        call_start_(run.calls.size(), kNoMoment),
        meetings_(run.meetings.size()),
        arrived_(run.meetings.size()) {
    result_.work_end.assign(run.works.size(), kNoMoment);
    result_.steps.resize(run.steps.size());
    for (const HostCall& call : run.calls) {
      if (call.kind != HostCall::Kind::other) threads_[call.thread].is_at_work = true;
    }
  }

  CausalNetwork build() {
    for (const Item& item : items()) {
      now_ = item.ns;
      switch (item.phase) {
        case kCallEnds: end_call(item.index); break;
        case kCallStarts: start_call(item.index); break;
        case kWorkStarts: start_work(item.index); break;
        case kStepBegins: result_.steps[item.index].first = mark(item.index); break;
        case kStepEnds: result_.steps[item.index].second = mark(item.index); break;
      }
    }
    for (std::size_t i = 0; i < run_.steps.size(); ++i) {
      const RecordedStep& step = run_.steps[i];
      place_before_calls(result_.steps[i].first, step.rank, step.start_ns);
      place_before_calls(result_.steps[i].second, step.rank, step.end_ns);
    }
    return std::move(result_);
  }

 private:
  struct RankState {
    Recorded first;     // call
    Recorded returned;  // the call that returned last
  };
  struct Thread {
    Recorded at;                      // the last beginning or end of one of its calls
    std::vector<std::uint32_t> open;  // calls that have not returned, outermost first
    bool is_at_work = false;          // it launches work or waits for some; otherwise it watches
  };

  static std::vector<traces::CallSpan> spans_of(const RecordedRun& run) {
    std::vector<traces::CallSpan> spans;
    for (const HostCall& call : run.calls) {
      spans.push_back({call.start_ns, call.end_ns, run.rank_of(call), call.waits()});
    }
    return spans;
  }

  std::vector<Item> items() const {
    std::vector<Item> items;
    items.reserve(2 * run_.calls.size() + run_.works.size() + 2 * run_.steps.size());
    for (std::uint32_t i = 0; i < run_.calls.size(); ++i) {
      const HostCall& call = run_.calls[i];
      items.push_back({call.start_ns, i, kCallStarts});
      if (call.end_ns > call.start_ns) items.push_back({call.end_ns, i, kCallEnds});
    }
    for (std::uint32_t i = 0; i < run_.works.size(); ++i) {
      items.push_back({run_.works[i].start_ns, i, kWorkStarts});
    }
    for (std::uint32_t i = 0; i < run_.steps.size(); ++i) {
      items.push_back({run_.steps[i].start_ns, i, kStepBegins});
      items.push_back({run_.steps[i].end_ns, i, kStepEnds});
    }
    std::sort(items.begin(), items.end());
    return items;
  }

  // Arrows to the moment that is being looked at, which `add_moment` adds.
  void after(Moment from, ActivityId activity, std::int64_t ns) {
    arrows_.push_back({from, activity, ns});
  }
  Moment add_moment() {
    const Moment moment = result_.network.add(arrows_);
    arrows_.clear();
    return moment;
  }

  bool has_begun(std::int32_t work) const {
    return work != kNotRecorded && work_start_[static_cast<std::size_t>(work)] != kNoMoment;
  }

  // No sooner than now, as far after the work as it was recorded, of which `activity` is what
  // passed since its end. Where it was not over, what it had done by now.
  void after_work(std::int32_t index, ActivityId activity) {
    const auto i = static_cast<std::size_t>(index);
    const RecordedWork& work = run_.works[i];
    const bool has_end = result_.work_end[i] != kNoMoment;
    if (has_end && work.end_ns <= now_) {
      return after(result_.work_end[i], activity, now_ - work.end_ns);
    }
    const bool met = work.meeting != kNotRecorded && stragglers_ == Stragglers::kept;
    if (!met) return after(work_start_[i], work.activity, now_ - work.start_ns);
    const Recorded& meeting = meetings_[static_cast<std::size_t>(work.meeting)];
    if (meeting.exists()) return after(meeting.moment, work.activity, now_ - meeting.ns);
    after(work_start_[i], kWait, now_ - work.start_ns);
  }

  void start_work(std::uint32_t index) {
    add_causes(index, launch_of(index));
    if (arrows_.empty()) after(ActivityNetwork::kOrigin, kBefore, now_ - run_.start_ns);
    work_start_[index] = add_moment();
    last_of_stream_[run_.works[index].stream] = static_cast<std::int32_t>(index);
    end_work(index);
  }

  // What held the work up, and what else it could not do without.
  void add_causes(std::uint32_t index, const Recorded& launch) {
    using Kind = traces::WorkCause::Kind;
    const RecordedWork& work = run_.works[index];
    const traces::WorkCause& cause = causes_.of[index];
    const traces::WorkCauses::Device& device = causes_.devices[run_.rank_of(work)];
    if (cause.kind == Kind::before || cause.kind == Kind::other) {
      after_work(cause.work, cause.kind == Kind::before ? kStreamGap : kStreamWait);
    }
    const bool is_explained = cause.kind != Kind::unexplained;
    if (!is_explained) after_unexplained(work, cause.work, launch);
    if (cause.before != kNotRecorded && cause.kind != Kind::before) {
      const std::int64_t gap = now_ - run_.works[static_cast<std::size_t>(cause.before)].end_ns;
      if (gap < 0) after_work(cause.before, kStreamGap);
      if (gap >= 0) after_end(cause.before, std::min(gap, device.gap_ns));
    }
    if (!launch.exists()) return;
    const std::int64_t delay = now_ - launch.ns;
    after(launch.moment, kLaunchLatency,
          cause.kind == Kind::launch ? delay : std::min(delay, device.launch_latency_ns));
  }

  // The beginning of the work's call; in one that did other things first, a launch's latency before the work.
  Recorded launch_of(std::uint32_t index) {
    const RecordedWork& work = run_.works[index];
    if (work.call == kNotRecorded) return {};
    const auto c = static_cast<std::size_t>(work.call);
    const HostCall& call = run_.calls[c];
    const Recorded begun{call_start_[c], call.start_ns};
    const std::int64_t launched =
        std::min(now_, call.end_ns) - causes_.devices[run_.rank_of(work)].launch_latency_ns;
    const bool is_long = causes_.of[index].kind == traces::WorkCause::Kind::launch &&
                         launched > call.start_ns + run_.tolerances.far_ns;
    if (!begun.exists() || !is_long) return begun;
    after(begun.moment, activity_of(call), launched - begun.ns);
    return {add_moment(), launched};
  }

  // After whatever was over last: on the device since the launch or, where that is not recorded, on the host.
  void after_unexplained(const RecordedWork& work, std::int32_t over, const Recorded& launch) {
    const Recorded& from = launch.exists() ? launch : ranks_[run_.rank_of(work)].returned;
    const bool on_device =
        over != kNotRecorded && run_.works[static_cast<std::size_t>(over)].end_ns > from.ns;
    if (on_device) return after_work(over, kUnexplained);
    if (!from.exists()) return after(ActivityNetwork::kOrigin, kUnexplained, now_ - run_.start_ns);
    after(from.moment, kUnexplained, now_ - from.ns);
  }

  void after_end(std::int32_t work, std::int64_t ns) {
    const Moment end = result_.work_end[static_cast<std::size_t>(work)];
    if (end != kNoMoment) after(end, kStreamGap, ns);
  }

  void end_work(std::uint32_t index) {
    const RecordedWork& work = run_.works[index];
    if (work.meeting == kNotRecorded) {
      after(work_start_[index], work.activity, work.end_ns - work.start_ns);
      result_.work_end[index] = add_moment();
      return;
    }
    const auto met = static_cast<std::size_t>(work.meeting);
    const RecordedMeeting& meeting = run_.meetings[met];
    if (++arrived_[met] < meeting.works.size()) return;
    if (stragglers_ == Stragglers::kept) {
      for (const std::uint32_t member : meeting.works) after(work_start_[member], kWait, 0);
      meetings_[met] = {add_moment(), meeting.start_ns};
    }
    const std::int64_t of_last = work.end_ns - work.start_ns;
    for (const std::uint32_t member : meeting.works) {
      const RecordedWork& its = run_.works[member];
      const std::int64_t together = its.end_ns - meeting.start_ns;
      if (stragglers_ == Stragglers::kept) {
        after(meetings_[met].moment, its.activity, together);
      } else {
        after(work_start_[member], its.activity, std::min(together, of_last));
      }
      result_.work_end[member] = add_moment();
    }
  }

  static ActivityId activity_of(const HostCall& call) {
    if (call.waits()) return kWait;
    return call.kind == HostCall::Kind::launch ? kLaunch : kHost;
  }

  void start_call(std::uint32_t index) {
    const HostCall& call = run_.calls[index];
    Thread& thread = threads_[call.thread];
    RankState& rank = ranks_[run_.rank_of(call)];
    if (!thread.open.empty()) {
      after(thread.at.moment, activity_of(run_.calls[thread.open.back()]), now_ - thread.at.ns);
    } else {
      after_last_call(thread, run_.rank_of(call));
    }
    if (arrows_.empty()) after(ActivityNetwork::kOrigin, kBefore, now_ - run_.start_ns);
    call_start_[index] = add_moment();
    if (!rank.first.exists()) rank.first = {call_start_[index], now_};
    thread.at = {call_start_[index], now_};
    thread.open.push_back(index);
    if (call.end_ns == call.start_ns) end_call(index);
  }

  // A thread goes on after its own last call, or after another thread's that returned later; one
  // that only watches, after whatever returned last. In both cases its own calls keep their order.
  void after_last_call(const Thread& thread, std::uint32_t rank) {
    const Recorded& returned = ranks_[rank].returned;
    const bool goes_on = thread.is_at_work && thread.at.ns >= returned.ns;
    const Recorded& last = goes_on || !returned.exists() ? thread.at : returned;
    if (last.exists()) after_gap(last, rank);
    if (!thread.at.exists() || last.moment == thread.at.moment) return;
    after(thread.at.moment, kHost, thread.is_at_work ? now_ - last.ns : 0);
  }

  // Between two calls of a rank a host works, or waits for its device without a record of it.
  void after_gap(const Recorded& last, std::uint32_t rank) {
    const std::int32_t awaited = unrecorded_waits_.awaited(rank, last.ns, now_);
    if (awaited == kNotRecorded) return after(last.moment, kHost, now_ - last.ns);
    after(last.moment, kHost, std::min(now_ - last.ns, kWaitingCallNs));
    after_work(awaited, kWait);
  }

  void end_call(std::uint32_t index) {
    const HostCall& call = run_.calls[index];
    Thread& thread = threads_[call.thread];
    RankState& rank = ranks_[run_.rank_of(call)];
    if (call.waits()) {
      add_awaited(call, thread.at);
    } else {
      add_own_time(index, thread);
    }
    thread.at = {add_moment(), now_};
    std::erase(thread.open, index);
    if (thread.open.empty() && thread.is_at_work) rank.returned = thread.at;
  }

  // What a call takes that returns as soon as it has done its work, or its stream's queue has room for that.
  void add_own_time(std::uint32_t index, const Thread& thread) {
    std::int64_t took = now_ - thread.at.ns;
    if (!queued_.empty() && has_begun(queued_[index].room)) {
      const QueuedLaunch& queued = queued_[index];
      const auto room = static_cast<std::size_t>(queued.room);
      if (queued.was_held()) took = std::min(took, queued.own_ns);
      after(work_start_[room], kWait, queued.was_held() ? now_ - run_.works[room].start_ns : 0);
    }
    after(thread.at.moment, activity_of(run_.calls[thread.open.back()]), took);
  }

  // What a call that waits has waited for, since the thread last did anything else.
  void add_awaited(const HostCall& call, const Recorded& since) {
    const std::int64_t took = now_ - since.ns;
    const std::int32_t awaited = call.kind == HostCall::Kind::copy
                                     ? (has_begun(call.work) ? call.work : kNotRecorded)
                                     : causes_.last_over(run_.launched, run_.rank_of(call),
                                                         now_ + kClockToleranceNs, since.ns);
    if (awaited != kNotRecorded && has_begun(awaited)) {
      after(since.moment, kHost, std::min(took, kWaitingCallNs));
      after_work(awaited, kWait);
    } else {
      after(since.moment, took <= kWaitingCallNs ? kHost : kWait, took);
      if (call.kind != HostCall::Kind::copy) after_end_if_over(last_launched(run_.rank_of(call)));
    }
    if (call.kind != HostCall::Kind::wait_all) return;
    for (std::size_t lane = 0; lane < last_of_stream_.size(); ++lane) {
      if (run_.lane_ranks[lane] == run_.rank_of(call)) after_end_if_over(last_of_stream_[lane]);
    }
  }

  // Of the work that is over now and the last of its stream, what was launched last.
  std::int32_t last_launched(std::uint32_t rank) const {
    std::int32_t last = kNotRecorded, its_call = kNotRecorded;
    for (std::size_t lane = 0; lane < last_of_stream_.size(); ++lane) {
      const std::int32_t work = last_of_stream_[lane];
      if (run_.lane_ranks[lane] != rank || !is_over(work)) continue;
      const std::int32_t call = run_.works[static_cast<std::size_t>(work)].call;
      if (call <= its_call) continue;
      last = work;
      its_call = call;
    }
    return last;
  }

  bool is_over(std::int32_t work) const {
    return has_begun(work) && run_.works[static_cast<std::size_t>(work)].end_ns <= now_;
  }
  void after_end_if_over(std::int32_t work) {
    if (!is_over(work)) return;
    const Moment end = result_.work_end[static_cast<std::size_t>(work)];
    if (end != kNoMoment) after(end, kWait, 0);
  }

  HostMark mark(std::uint32_t step) const {
    const Recorded& returned = ranks_[run_.steps[step].rank].returned;
    return returned.exists() ? HostMark{returned.moment, now_ - returned.ns}
                             : HostMark{kNoMoment, 0};
  }
  // What was before any call had returned is counted from the first.
  void place_before_calls(HostMark& mark, std::uint32_t rank, std::int64_t ns) const {
    if (mark.from != kNoMoment) return;
    const Recorded& first = ranks_[rank].first;
    mark = first.exists() ? HostMark{first.moment, ns - first.ns}
                          : HostMark{ActivityNetwork::kOrigin, ns - run_.start_ns};
  }

  const RecordedRun& run_;
  Stragglers stragglers_;
  traces::WorkCauses causes_;
  traces::UnrecordedWaits unrecorded_waits_;
  std::vector<QueuedLaunch> queued_;  // by call; empty: no queue was full
  std::vector<RankState> ranks_;
  std::vector<Thread> threads_;
  std::vector<std::int32_t> last_of_stream_;
  std::vector<Moment> work_start_, call_start_;
  std::vector<Recorded> meetings_;
  std::vector<std::size_t> arrived_;  // members of each meeting so far
  std::vector<Arrow> arrows_;
  std::int64_t now_ = 0;
  CausalNetwork result_;
};

}  // namespace

CausalNetwork causal_network(const RecordedRun& run, Stragglers stragglers) {
  return NetworkBuilder(run, stragglers).build();
}

}  // namespace foreshard::simulator
