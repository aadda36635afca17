#include "simulator/whatif/causal_network.hpp"

#include <algorithm>
#include <limits>
#include <tuple>

#include "simulator/whatif/stream_order.hpp"

namespace foreshard::simulator {
namespace {

constexpr Moment kNoMoment = std::numeric_limits<Moment>::max();
constexpr std::uint32_t kNoStream = std::numeric_limits<std::uint32_t>::max();

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
        order_(stream_order(run)),
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
    const RecordedWork& work = run_.works[index];
    RankState& rank = ranks_[run_.rank_of(work)];
    const DeviceTimes& device = order_.ranks[run_.rank_of(work)];
    const std::int32_t before = order_.before[index];
    const std::int64_t gap = before == kNotRecorded
                                 ? std::numeric_limits<std::int64_t>::max()
                                 : now_ - run_.works[static_cast<std::size_t>(before)].end_ns;
    const bool follows = add_causes(work, device, rank, before, gap);
    if (before != kNotRecorded) {
      if (gap < 0 || follows) {
        after_work(before, kStreamGap);
      } else {
        after_end(before, std::min(gap, device.gap_ns));
      }
    }
    if (arrows_.empty()) after(ActivityNetwork::kOrigin, kBefore, now_ - run_.start_ns);
    work_start_[index] = add_moment();
    last_of_stream_[work.stream] = static_cast<std::int32_t>(index);
    end_work(index);
  }

  // All that lets work begin but the work before it in its stream, which it may follow as closely
  // as it was recorded: then true.
  bool add_causes(const RecordedWork& work, const DeviceTimes& device, const RankState& rank,
                  std::int32_t before, std::int64_t gap) {
    const bool is_far = gap > kFarNs;
    const Moment launch =
        work.call == kNotRecorded ? kNoMoment : call_start_[static_cast<std::size_t>(work.call)];
    if (launch == kNoMoment) {
      if (!is_far) return true;
      if (rank.returned.exists()) {
        after(rank.returned.moment, kUnknownLaunch, now_ - rank.returned.ns);
      } else {
        after(ActivityNetwork::kOrigin, kUnknownLaunch, now_ - run_.start_ns);
      }
      return false;
    }
    const std::int64_t launched = run_.calls[static_cast<std::size_t>(work.call)].start_ns;
    const std::int64_t delay = now_ - launched;
    const std::int64_t before_end = before == kNotRecorded
                                        ? std::numeric_limits<std::int64_t>::min()
                                        : run_.works[static_cast<std::size_t>(before)].end_ns;
    if (is_far && delay > device.launch_latency_ns + kFarNs) {
      const std::int32_t other =
          last_over(device, now_ + kEventToleranceNs,
                    std::max(now_ - order_.most_delay_ns, before_end), work.stream);
      if (other != kNotRecorded) {
        after_work(other, kStreamWait);
        after(launch, kLaunchLatency, device.launch_latency_ns);
        return false;
      }
    }
    const bool was_queued = before_end > launched;
    if (was_queued && gap <= order_.most_delay_ns && delay >= device.launch_latency_ns) {
      after(launch, kLaunchLatency, device.launch_latency_ns);
      return true;
    }
    after(launch, kLaunchLatency, delay);
    return false;
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

  // The work of the rank that was over last in (since, until], except that of one stream.
  std::int32_t last_over(const DeviceTimes& device, std::int64_t until, std::int64_t since,
                         std::uint32_t except) const {
    const auto end_of = [&](std::uint32_t work) { return run_.works[work].end_ns; };
    auto at = std::upper_bound(device.by_end.begin(), device.by_end.end(), until,
                               [&](std::int64_t ns, std::uint32_t w) { return ns < end_of(w); });
    while (at != device.by_end.begin() && end_of(*--at) > since) {
      const auto work = static_cast<std::int32_t>(*at);
      if (run_.works[*at].stream != except && has_begun(work)) return work;
    }
    return kNotRecorded;
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
      after_last_call(thread, rank.returned);
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
  void after_last_call(const Thread& thread, const Recorded& returned) {
    const bool goes_on = thread.is_at_work && thread.at.ns >= returned.ns;
    const Recorded& last = goes_on || !returned.exists() ? thread.at : returned;
    if (last.exists()) after(last.moment, kHost, now_ - last.ns);
    if (!thread.at.exists() || last.moment == thread.at.moment) return;
    after(thread.at.moment, kHost, thread.is_at_work ? now_ - last.ns : 0);
  }

  void end_call(std::uint32_t index) {
    const HostCall& call = run_.calls[index];
    Thread& thread = threads_[call.thread];
    RankState& rank = ranks_[run_.rank_of(call)];
    if (call.waits()) {
      add_awaited(call, thread.at);
    } else {
      const HostCall& innermost = run_.calls[thread.open.back()];
      after(thread.at.moment, activity_of(innermost), now_ - thread.at.ns);
    }
    thread.at = {add_moment(), now_};
    std::erase(thread.open, index);
    if (thread.open.empty() && thread.is_at_work) rank.returned = thread.at;
  }

  // What a call that waits has waited for, since the thread last did anything else.
  void add_awaited(const HostCall& call, const Recorded& since) {
    const DeviceTimes& device = order_.ranks[run_.rank_of(call)];
    const std::int64_t took = now_ - since.ns;
    const std::int32_t awaited =
        call.kind == HostCall::Kind::copy
            ? (has_begun(call.work) ? call.work : kNotRecorded)
            : last_over(device, now_ + kClockToleranceNs, since.ns, kNoStream);
    if (awaited != kNotRecorded) {
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
  StreamOrder order_;
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
