#include "simulator/engine/engine_shared.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>

#include "simulator/engine/engine_state.hpp"
#include "simulator/engine/max_min.hpp"

namespace foreshard::simulator {
namespace {

using namespace shared_engine;

constexpr double kNever = std::numeric_limits<double>::infinity();

class SharedEngine {
 public:
  SharedEngine(std::span<const SimulatedRank> inputs, const EngineOptions& options)
      : options_(options),
        solver_(std::vector<double>(options.capacities.begin(), options.capacities.end())) {
    for (std::size_t r = 0; r < inputs.size(); ++r) {
      ranks_.emplace_back(inputs[r]);
      ranks_[r].open_timeline(last_step(), options_.steps);
      join_communicators(communicators_, ranks_[r], static_cast<std::int32_t>(r),
                         options_.simulated);
    }
  }

  std::vector<RankTimeline> run() {
    for (std::size_t r = 0; r < ranks_.size(); ++r) enter_step(r);
    while (!active_.empty()) pass_time();
    std::vector<RankTimeline> timelines;
    for (Rank& rank : ranks_) {
      if ((rank.host != Rank::Host::done || rank.is_busy()) && options_.stop_step < 0) {
        throw std::logic_error("the ranks' programs wait for each other forever");
      }
      rank.close_timeline(last_step(), now());
      timelines.push_back(std::move(rank.timeline));
    }
    return timelines;
  }

 private:
  std::int64_t last_step() const { return last_simulated_step(*ranks_[0].input, options_); }
  std::int64_t now() const { return std::llround(time_); }

  void enter_step(std::size_t r) {
    Rank& rank = ranks_[r];
    for (; rank.step <= last_step(); ++rank.step) {
      rank.program = &rank.input->program_of(rank.step, options_.steps);
      rank.pc = 0;
      rank.end = rank.program->instructions.size();
      if (rank.step == options_.stop_step) {
        rank.end = std::min(rank.end, static_cast<std::size_t>(options_.stop_instruction));
      }
      rank.first_event = rank.events.size();
      rank.events.resize(rank.events.size() + static_cast<std::size_t>(rank.program->events));
      if (rank.end > 0) return begin_instruction(r);
      finish_step(rank);
    }
    rank.host = Rank::Host::done;
  }

  void finish_step(Rank& rank) {
    rank.timeline.step_end_ns.push_back(now());
    rank.timeline.first_span.push_back(rank.span);
  }

  void begin_instruction(std::size_t r) {
    Rank& rank = ranks_[r];
    rank.timeline.spans[rank.span].issue = now();
    rank.host = Rank::Host::issuing;
    rank.delay_ns = 0;
    std::int64_t ns = issue_ns(*rank.input, rank.step, rank.pc, options_);
    if (const HostDelay* const delay = rank.take_delay()) {
      if (delay->drains) {
        rank.host = Rank::Host::draining;
        rank.delay_ns = delay->ns;
      } else {
        ns += delay->ns;
      }
    }
    start_task(r, rank.host_lane(), 0, static_cast<double>(ns));
  }

  // The host goes on with what it wanted an idle device for.
  void end_drain(std::size_t r) {
    Rank& rank = ranks_[r];
    const bool waits =
        rank.host == Rank::Host::draining && rank.host_task().state == LaneState::waits_for_event;
    if (!waits || rank.is_busy()) return;
    rank.host = Rank::Host::delayed;
    start_task(r, rank.host_lane(), 0, static_cast<double>(rank.delay_ns));
  }

  void next_instruction(std::size_t r) {
    Rank& rank = ranks_[r];
    ++rank.span;
    if (++rank.pc < rank.end) return begin_instruction(r);
    finish_step(rank);
    ++rank.step;
    enter_step(r);
  }

  // The host's task is over: its issue time, a delay, its own work, or the latency after a wait.
  void host_task_done(std::size_t r) {
    Rank& rank = ranks_[r];
    const Instruction& i = rank.program->instructions[rank.pc];
    Span& span = rank.timeline.spans[rank.span];
    if (rank.host == Rank::Host::draining) {
      rank.host_task().state = LaneState::waits_for_event;
      return end_drain(r);
    }
    if (rank.host == Rank::Host::computing || rank.host == Rank::Host::waiting) {
      span.end = now();
      return next_instruction(r);
    }
    span.start = span.issue;
    span.end = now();
    switch (i.kind) {
      case Kind::host_compute:
        span.start = now();
        rank.host = Rank::Host::computing;
        start_task(r, rank.host_lane(), 0, static_cast<double>(rank.cost(i).ns));
        return;
      case Kind::host_wait: {
        span.start = now();
        Event& event = rank.events[rank.first_event + static_cast<std::size_t>(i.target)];
        rank.awaited = event.last_issued;
        rank.waits_since = time_;
        if (!rank.is_reached(rank.awaited)) {
          rank.host = Rank::Host::waiting;
          rank.host_task().state = LaneState::waits_for_event;
          event.waiters.push_back(static_cast<std::uint16_t>(rank.host_lane()));
          return;
        }
        break;
      }
      case Kind::launch:
      case Kind::copy:
      case Kind::collective:
      case Kind::record_event:
      case Kind::wait_event: put_on_stream(r, i); break;
      default: break;
    }
    next_instruction(r);
  }

  void put_on_stream(std::size_t r, const Instruction& i) {
    Rank& rank = ranks_[r];
    const auto lane = static_cast<std::size_t>(i.stream);
    Item item{&i, rank.span, time_};
    if (i.kind == Kind::record_event || i.kind == Kind::wait_event) {
      item.event = rank.first_event + static_cast<std::size_t>(i.target);
      Event& event = rank.events[item.event];
      if (i.kind == Kind::record_event) {
        event.last_issued = static_cast<RecordId>(rank.reached.size());
        rank.reached.push_back(kNotYet);
      }
      item.record = event.last_issued;
    } else if (i.kind == Kind::collective) {
      rank.issued[static_cast<std::size_t>(i.group)].push_back(static_cast<std::uint8_t>(lane));
    }
    LaneTask& task = rank.lanes[lane];
    task.queue.push_back(item);
    if (task.state == LaneState::idle) advance_stream(r, lane);
  }

  // Goes on with a stream whose last task is over.
  void advance_stream(std::size_t r, std::size_t lane) {
    Rank& rank = ranks_[r];
    LaneTask& task = rank.lanes[lane];
    task.state = LaneState::idle;
    for (; task.head < task.queue.size(); ++task.head) {
      const Item& item = task.queue[task.head];
      switch (item.instruction->kind) {
        case Kind::record_event:
          rank.reached[static_cast<std::size_t>(item.record)] = task.passed;
          if (!rank.events[item.event].waiters.empty()) wake_waiters(r, rank.events[item.event]);
          continue;
        case Kind::wait_event:
          if (rank.is_reached(item.record)) {
            task.pass_event(rank.time_of(item.record), options_.host);
            continue;
          }
          rank.events[item.event].waiters.push_back(static_cast<std::uint16_t>(lane));
          task.state = LaneState::waits_for_event;
          return;
        case Kind::collective:
          task.state = LaneState::waits_for_ranks;
          try_collective(rank.communicators[static_cast<std::size_t>(item.instruction->group)]);
          return;
        default:
          rank.timeline.spans[item.span].start = now();
          start_task(r, lane, std::max(0.0, task.start(options_.host) - time_),
                     static_cast<double>(rank.cost(*item.instruction).ns));
          return;
      }
    }
    end_drain(r);
  }

  void wake_waiters(std::size_t r, Event& event) {
    std::vector<std::uint16_t> waiters = std::exchange(event.waiters, {});
    std::sort(waiters.begin(), waiters.end());
    for (const std::uint16_t lane : waiters) {
      if (lane == ranks_[r].host_lane()) {
        wake_host(r, event);
      } else {
        woken_.push_back({static_cast<std::int32_t>(r), lane});
      }
    }
  }

  // The host waits on where another record of the event was reached than the one it waits for, and
  // has lost no time where that one was reached before it asked.
  void wake_host(std::size_t r, Event& event) {
    const Rank& rank = ranks_[r];
    if (!rank.is_reached(rank.awaited)) {
      event.waiters.push_back(static_cast<std::uint16_t>(rank.host_lane()));
      return;
    }
    const bool waited = rank.time_of(rank.awaited) > rank.waits_since;
    start_task(r, rank.host_lane(), waited ? static_cast<double>(options_.host.wait_latency_ns) : 0,
               0);
  }

  // Starts the communicator's next collective when all its ranks stand at it.
  void try_collective(std::int32_t c) {
    Communicator& communicator = communicators_[static_cast<std::size_t>(c)];
    if (communicator.running > 0) return;
    for (std::size_t m = 0; m < communicator.members.size(); ++m) {
      communicator.at[m] =
          ranks_[static_cast<std::size_t>(communicator.members[m])].lane_at_next(c);
      if (communicator.at[m] < 0) return;
    }
    communicator.running = static_cast<std::int32_t>(communicator.members.size());
    double start = time_;
    for (std::size_t m = 0; m < communicator.members.size(); ++m) {
      const Rank& rank = ranks_[static_cast<std::size_t>(communicator.members[m])];
      const auto lane = static_cast<std::size_t>(communicator.at[m]);
      start = std::max(start, rank.lanes[lane].start(options_.host));
    }
    start += static_cast<double>(options_.host.rendezvous_ns);
    for (std::size_t m = 0; m < communicator.members.size(); ++m) {
      const auto r = static_cast<std::size_t>(communicator.members[m]);
      const auto lane = static_cast<std::size_t>(communicator.at[m]);
      const LaneTask& task = ranks_[r].lanes[lane];
      const Item& item = task.queue[task.head];
      ranks_[r].timeline.spans[item.span].start = now();
      start_task(r, lane, start - time_, static_cast<double>(ranks_[r].cost(*item.instruction).ns));
    }
  }

  void collective_part_done(std::int32_t c) {
    Communicator& communicator = communicators_[static_cast<std::size_t>(c)];
    if (--communicator.running > 0) return;
    const std::vector<std::int32_t> lanes = communicator.at;
    for (std::size_t m = 0; m < lanes.size(); ++m) {
      const auto r = static_cast<std::size_t>(communicator.members[m]);
      LaneTask& task = ranks_[r].lanes[static_cast<std::size_t>(lanes[m])];
      const Item& item = task.queue[task.head++];
      task.state = LaneState::idle;
      task.end_task(time_, options_.host);
      ranks_[r].timeline.spans[item.span].end = now();
      ++ranks_[r].next_issued[static_cast<std::size_t>(item.instruction->group)];
    }
    for (std::size_t m = 0; m < lanes.size(); ++m) {
      advance_stream(static_cast<std::size_t>(communicator.members[m]),
                     static_cast<std::size_t>(lanes[m]));
    }
    try_collective(c);
  }

  void stream_task_done(std::size_t r, std::size_t lane) {
    Rank& rank = ranks_[r];
    LaneTask& task = rank.lanes[lane];
    const Item& item = task.queue[task.head];
    if (item.instruction->kind == Kind::collective) {
      task.state = LaneState::waits_for_ranks;
      const auto group = static_cast<std::size_t>(item.instruction->group);
      return collective_part_done(rank.communicators[group]);
    }
    rank.timeline.spans[item.span].end = now();
    ++task.head;
    task.end_task(time_, options_.host);
    advance_stream(r, lane);
  }

  void start_task(std::size_t r, std::size_t lane, double latency, double work) {
    LaneTask& task = ranks_[r].lanes[lane];
    task.state = LaneState::running;
    task.latency = latency;
    task.work = work;
    active_.push_back({static_cast<std::int32_t>(r), static_cast<std::int32_t>(lane),
                       lane == ranks_[r].host_lane()});
  }

  Consumer consumer_of(const Active& active) const {
    const auto r = static_cast<std::size_t>(active.rank);
    const Rank& rank = ranks_[r];
    const LaneTask& task = rank.lanes[static_cast<std::size_t>(active.lane)];
    if (task.latency > 0) return {};
    if (active.is_host && rank.host != Rank::Host::computing) {
      return issuing_host(options_.host);
    }
    const Instruction& i =
        active.is_host ? rank.program->instructions[rank.pc] : *task.queue[task.head].instruction;
    return running_task(rank.cost(i));
  }

  // Lets time pass until the next task (or latency) is over, and does what follows from it.
  void pass_time() {
    consumers_.clear();
    for (const Active& active : active_) consumers_.push_back(consumer_of(active));
    rates_.resize(active_.size());
    solver_.solve(consumers_, rates_);

    double step = kNever;
    for (std::size_t a = 0; a < active_.size(); ++a) {
      const LaneTask& task = lane_of(active_[a]);
      step = std::min(step, task.latency > 0 ? task.latency : task.work / rates_[a]);
    }
    time_ += step;
    // Half a picosecond of slack, so that rounding does not split what ends together.
    constexpr double kSlack = 5e-4;
    done_.clear();
    std::size_t kept = 0;
    for (std::size_t a = 0; a < active_.size(); ++a) {
      const Active active = active_[a];
      LaneTask& task = lane_of(active);
      if (task.latency > 0) {
        task.latency -= step;
        if (task.latency <= kSlack) {
          task.latency = 0;
          begin_work(active);
        }
      } else {
        task.work -= step * rates_[a];
      }
      if (task.latency <= 0 && task.work <= kSlack) {
        done_.push_back(active);
      } else {
        active_[kept++] = active;
      }
    }
    active_.resize(kept);
    for (const Active& active : done_) task_done(active);
  }

  void begin_work(const Active& active) {
    if (active.is_host) return;
    Rank& rank = ranks_[static_cast<std::size_t>(active.rank)];
    const LaneTask& task = lane_of(active);
    rank.timeline.spans[task.queue[task.head].span].start = now();
  }

  void task_done(const Active& active) {
    const auto r = static_cast<std::size_t>(active.rank);
    if (active.is_host) {
      host_task_done(r);
    } else {
      stream_task_done(r, static_cast<std::size_t>(active.lane));
    }
    // Streams released by an event go on once the one that reached it has settled.
    while (!woken_.empty()) {
      const Active woken = woken_.back();
      woken_.pop_back();
      advance_stream(static_cast<std::size_t>(woken.rank), static_cast<std::size_t>(woken.lane));
    }
  }

  LaneTask& lane_of(const Active& active) {
    return ranks_[static_cast<std::size_t>(active.rank)]
        .lanes[static_cast<std::size_t>(active.lane)];
  }

  const EngineOptions& options_;
  MaxMinSolver solver_;
  std::vector<Rank> ranks_;
  std::vector<Communicator> communicators_;
  std::vector<Active> active_, done_, woken_;
  std::vector<Consumer> consumers_;
  std::vector<double> rates_;
  double time_ = 0;
};

}  // namespace

std::vector<RankTimeline> simulate_shared(std::span<const SimulatedRank> ranks,
                                          const EngineOptions& options) {
  return SharedEngine(ranks, options).run();
}

}  // namespace foreshard::simulator
