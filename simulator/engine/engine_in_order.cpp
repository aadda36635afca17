#include "simulator/engine/engine_in_order.hpp"

#include <algorithm>
#include <stdexcept>

#include "simulator/engine/copy_times.hpp"

namespace foreshard::simulator {
namespace {

constexpr std::int64_t kUnrecorded = -1;

struct CommunicatorClock {
  std::int64_t id = 0;
  std::size_t members = 0;
  std::int64_t free_at = 0;
};

// One rank's walk. `advance` goes on to the next collective (or the end), whose start the caller
// settles with the other members; everything else depends on what was walked already.
class Walk {
 public:
  // `alone`: the communicators, where there is no other rank.
  Walk(const SimulatedRank& rank, const EngineOptions& options, RankTimeline memory,
       std::vector<CommunicatorClock>* alone)
      : rank_(rank),
        options_(options),
        alone_(alone),
        timeline_(std::move(memory)),
        cost_places_(cost_places(rank.program->place)),
        streams_(rank.streams()) {
    std::size_t spans = 0;
    for (std::int64_t s = 0; s <= last_step(); ++s)
      spans += rank.program_of(s, options.steps).instructions.size();
    timeline_.spans.clear();
    timeline_.spans.reserve(spans);
    timeline_.first_span.assign(1, 0);
    timeline_.step_end_ns.clear();
    timeline_.repeated.clear();
    enter_step();
  }

  bool at_collective() const { return at_collective_; }
  std::int64_t communicator() const { return communicator_; }
  std::int64_t arrival() const { return arrival_; }
  std::int64_t collective_ns() const { return cost(*current_).ns; }

  RankTimeline take() {
    timeline_.first_span.resize(static_cast<std::size_t>(last_step()) + 2, timeline_.spans.size());
    timeline_.step_end_ns.resize(static_cast<std::size_t>(last_step()) + 1, host_);
    return std::move(timeline_);
  }

  void advance() {
    while (step_ <= last_step()) {
      do {
        for (; current_ < end_; ++current_) {
          if (issue(*current_)) {
            at_collective_ = true;
            return;
          }
        }
      } while (enter_next_stretch());
      timeline_.step_end_ns.push_back(host_);
      timeline_.first_span.push_back(timeline_.spans.size());
      if (++step_ <= last_step()) enter_step();
    }
    at_collective_ = false;
  }

  // The collective this rank stands at runs from `start` to `end`.
  void pass_collective(std::int64_t start, std::int64_t end) {
    finish_task(static_cast<std::size_t>(current_->stream), end);
    timeline_.spans.push_back({issued_, start, end});
    ++current_;
  }

 private:
  std::int64_t last_step() const { return last_simulated_step(rank_, options_); }

  void enter_step() {
    program_ = &rank_.program_of(step_, options_.steps);
    begin_ = program_->instructions.data();
    events_.assign(static_cast<std::size_t>(program_->events), kUnrecorded);
    copies_ = skipped_ = 0;
    is_last_stretch_ = program_->repetition.more == 0;
    enter(0, is_last_stretch_ ? program_->instructions.size()
                              : static_cast<std::size_t>(program_->repetition.begin));
  }

  // Instructions [begin, end) as they are written down, as far as the step goes.
  void enter(std::size_t begin, std::size_t end) {
    current_ = begin_ + begin;
    end_ = begin_ + end;
    if (step_ != options_.stop_step) return;
    const std::int64_t stop = options_.stop_instruction - skipped_;
    end_ = std::min(end_, begin_ + std::max<std::int64_t>(0, stop));
  }

  // The copies of the step's repetition, as far as they do not repeat, then the rest; false where the
  // step is over.
  bool enter_next_stretch() {
    if (is_last_stretch_) return false;
    const Repetition& r = program_->repetition;
    if (copies_ <= r.more && begin_copy()) {
      skipped_ = copies_ * r.length();
      enter(static_cast<std::size_t>(r.begin), static_cast<std::size_t>(r.end));
      ++copies_;
    } else {
      is_last_stretch_ = true;
      skipped_ = r.more * r.length();
      enter(static_cast<std::size_t>(r.end), program_->instructions.size());
    }
    return true;
  }

  // Prepares the next copy; false where it and all that follow repeat the one before.
  bool begin_copy() {
    if (alone_ == nullptr) {
      if (copies_ > 0) hand_over_events();
      return true;
    }
    if (copies_ == 0) {
      find_awaited_events();
    } else {
      hand_over_events();
    }
    CopyTimes now = times();
    if (copies_ > 0 && no_delay_in_repetition()) {
      const auto period = copy_period(copy_began_, now, host_decided_, options_.host);
      if (period && skip_copies(*period, now)) return false;
    }
    copy_began_ = std::move(now);
    host_decided_ = false;
    delay_before_copy_ = delay_;
    return true;
  }

  // An event that the copy before recorded is what the next one finds in its place.
  void hand_over_events() {
    const Repetition& r = program_->repetition;
    const auto recorded = events_.begin() + r.first_event;
    growth_.resize(static_cast<std::size_t>(r.events()));
    for (std::int32_t e = 0; e < r.events(); ++e) {
      std::int64_t& before = recorded[e - r.events()];
      growth_[static_cast<std::size_t>(e)] = recorded[e] - before;
      before = recorded[e];
    }
  }

  void find_awaited_events() {
    const Repetition& r = program_->repetition;
    awaited_.clear();
    for (const Instruction* i = begin_ + r.begin; i != begin_ + r.end; ++i) {
      const bool waits = i->kind == Kind::wait_event || i->kind == Kind::host_wait;
      if (waits && i->target < r.first_event) awaited_.push_back(i->target);
    }
  }

  CopyTimes times() const {
    CopyTimes result{host_, streams_, {}, {}};
    for (const CommunicatorClock& c : *alone_) result.communicators.push_back(c.free_at);
    for (const EventId e : awaited_) {
      result.events.push_back(events_[static_cast<std::size_t>(e)]);
    }
    return result;
  }

  bool no_delay_in_repetition() const {
    if (delay_ != delay_before_copy_) return false;
    if (step_ == options_.stop_step) return false;
    const Repetition& r = program_->repetition;
    return delay_ == rank_.delays.size() || rank_.delays[delay_].step != step_ ||
           rank_.delays[delay_].instruction >= r.end + r.more * r.length();
  }

  // Goes on to the end of the last copy, unless an event of theirs grows in a way of its own.
  bool skip_copies(const CopyPeriod& period, const CopyTimes& now) {
    const Repetition& r = program_->repetition;
    const std::int64_t past = now.irrelevant(options_.host);
    const auto recorded = events_.begin() + r.first_event;
    for (std::int32_t e = 0; e < r.events(); ++e) {
      const std::int64_t growth = growth_[static_cast<std::size_t>(e)];
      const bool is_past = period.streams == period.host && recorded[e] <= past;
      if (growth != 0 && growth != period.streams && !is_past) return false;
    }
    const std::int64_t left = r.more + 1 - copies_;
    const auto go_on = [&](std::int64_t& time, std::int64_t growth) {
      if (growth == period.streams) time += left * growth;
    };
    for (std::int32_t e = 0; e < r.events(); ++e) {
      go_on(recorded[e], growth_[static_cast<std::size_t>(e)]);
    }
    for (std::size_t s = 0; s < streams_.size(); ++s) {
      go_on(streams_[s].passed, streams_[s].passed - copy_began_.streams[s].passed);
      go_on(streams_[s].ready, streams_[s].ready - copy_began_.streams[s].ready);
    }
    for (std::size_t c = 0; c < alone_->size(); ++c) {
      CommunicatorClock& communicator = (*alone_)[c];
      go_on(communicator.free_at, communicator.free_at - copy_began_.communicators[c]);
    }
    host_ += left * period.host;
    const auto length = static_cast<std::size_t>(r.length());
    timeline_.repeated.push_back(
        {timeline_.spans.size() - length, length, left, period.host, period.streams});
    return true;
  }

  const TaskCost& cost(const Instruction& i) const {
    return rank_.costs[cost_index(i, cost_places_)];
  }

  // When a task issued now starts on its stream.
  std::int64_t stream_start(std::size_t stream) {
    const std::int64_t launched = host_ + options_.host.launch_latency_ns;
    host_decided_ |= launched >= streams_[stream].ready;
    return std::max(launched, streams_[stream].ready);
  }

  void finish_task(std::size_t stream, std::int64_t end) {
    streams_[stream] = {end, end + options_.host.stream_gap_ns};
  }

  void pay_delay(std::int32_t instruction) {
    const HostDelay& delay = rank_.delays[delay_];
    if (delay.step != step_ || delay.instruction != instruction) return;
    ++delay_;
    if (delay.drains) {
      for (const StreamTimes& stream : streams_) host_ = std::max(host_, stream.passed);
    }
    host_ += delay.ns;
  }

  // Carries out one instruction; true when it is a collective, which is then only prepared.
  bool issue(const Instruction& i) {
    issued_ = host_;
    host_ += options_.host.issue_ns[static_cast<std::size_t>(i.kind)];
    if (delay_ < rank_.delays.size())
      pay_delay(static_cast<std::int32_t>(current_ - begin_) + skipped_);
    Span span{issued_, issued_, host_};
    const auto stream = static_cast<std::size_t>(i.stream);
    switch (i.kind) {
      case Kind::launch:
      case Kind::copy:
        span.start = stream_start(stream);
        span.end = span.start + cost(i).ns;
        finish_task(stream, span.end);
        break;
      case Kind::collective:
        arrival_ = stream_start(stream);
        communicator_ = communicator_id(rank_.place, i.group, options_.one_per_class);
        return true;
      case Kind::host_compute:
        span.start = host_;
        span.end = host_ += cost(i).ns;
        break;
      case Kind::record_event:
        events_[static_cast<std::size_t>(i.target)] = streams_[stream].passed;
        break;
      case Kind::wait_event: {
        const std::int64_t event = events_[static_cast<std::size_t>(i.target)];
        StreamTimes& waiting = streams_[stream];
        if (event > waiting.passed) {
          waiting.passed = event;
          waiting.ready = std::max(waiting.ready, event + options_.host.event_latency_ns);
        }
        break;
      }
      case Kind::host_wait: {
        const std::int64_t event = events_[static_cast<std::size_t>(i.target)];
        host_decided_ = true;
        span.start = host_;
        if (event > host_) host_ = event + options_.host.wait_latency_ns;
        span.end = host_;
        break;
      }
      default: break;
    }
    timeline_.spans.push_back(span);
    return false;
  }

  const SimulatedRank& rank_;
  const EngineOptions& options_;
  std::vector<CommunicatorClock>* alone_;
  RankTimeline timeline_;
  const std::size_t cost_places_;
  std::vector<StreamTimes> streams_;
  std::vector<std::int64_t> events_;
  const Program* program_ = nullptr;    // of the step
  const Instruction* begin_ = nullptr;  // of the program
  const Instruction* current_ = nullptr;
  const Instruction* end_ = nullptr;  // of the stretch at hand
  std::size_t delay_ = 0;
  // Of the step's repetition: copies begun or skipped, and by how much numbers of instructions are
  // higher than where they are written down.
  std::int32_t copies_ = 0, skipped_ = 0;
  bool is_last_stretch_ = true;
  CopyTimes copy_began_;       // the copy at hand
  bool host_decided_ = false;  // in it
  std::size_t delay_before_copy_ = 0;
  std::vector<EventId> awaited_;      // by a copy, which others recorded
  std::vector<std::int64_t> growth_;  // of a copy's events since the copy before
  std::int64_t step_ = 0;
  std::int64_t host_ = 0, issued_ = 0, arrival_ = 0;
  std::int64_t communicator_ = 0;
  bool at_collective_ = false;
};

CommunicatorClock& find(std::vector<CommunicatorClock>& communicators, std::int64_t id) {
  for (CommunicatorClock& c : communicators) {
    if (c.id == id) return c;
  }
  return communicators.emplace_back(CommunicatorClock{id, 0, 0});
}

}  // namespace

std::vector<RankTimeline> simulate_in_order(std::span<const SimulatedRank> ranks,
                                            const EngineOptions& options,
                                            std::vector<RankTimeline> memory) {
  std::vector<CommunicatorClock> communicators;
  std::vector<Walk> walks;
  walks.reserve(ranks.size());
  memory.resize(ranks.size());
  for (const SimulatedRank& rank : ranks) {
    walks.emplace_back(rank, options, std::move(memory[walks.size()]),
                       ranks.size() == 1 ? &communicators : nullptr);
    for (std::size_t g = 0; g < rank.place.groups.size(); ++g) {
      const auto group = static_cast<Group>(g);
      ++find(communicators, communicator_id(rank.place, group, options.one_per_class)).members;
    }
  }
  for (Walk& walk : walks) walk.advance();

  for (;;) {
    bool progress = false, waiting = false;
    for (Walk& walk : walks) {
      if (!walk.at_collective()) continue;
      waiting = true;
      CommunicatorClock& communicator = find(communicators, walk.communicator());
      std::size_t arrived = 0;
      std::int64_t start = communicator.free_at, duration = 0;
      for (const Walk& other : walks) {
        if (!other.at_collective() || other.communicator() != communicator.id) continue;
        ++arrived;
        start = std::max(start, other.arrival());
        duration = std::max(duration, other.collective_ns());
      }
      if (arrived < communicator.members) continue;
      start += options.host.rendezvous_ns;
      communicator.free_at = start + duration;
      for (Walk& other : walks) {
        if (!other.at_collective() || other.communicator() != communicator.id) continue;
        other.pass_collective(start, start + duration);
        other.advance();
      }
      progress = true;
    }
    if (!waiting) break;
    if (!progress) {
      if (options.stop_step >= 0) break;  // cut short: some members never get there
      throw std::logic_error("the ranks' programs wait for each other's collectives forever");
    }
  }
  for (std::size_t w = 0; w < walks.size(); ++w) memory[w] = walks[w].take();
  return memory;
}

}  // namespace foreshard::simulator
