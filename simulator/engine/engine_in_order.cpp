#include "simulator/engine/engine_in_order.hpp"

#include <algorithm>
#include <stdexcept>

namespace foreshard::simulator {
namespace {

constexpr auto kStreamCount = static_cast<std::size_t>(kStreams);
constexpr std::int64_t kUnrecorded = -1;

// One rank's walk. `advance` goes on to the next collective (or the end), whose start the caller
// settles with the other members; everything else depends on what was walked already.
class Walk {
 public:
  Walk(const SimulatedRank& rank, const EngineOptions& options, RankTimeline memory)
      : rank_(rank), options_(options), timeline_(std::move(memory)) {
    std::size_t spans = 0;
    for (std::int64_t s = 0; s <= last_step(); ++s)
      spans += rank.program->step(s).instructions.size();
    timeline_.spans.clear();
    timeline_.spans.reserve(spans);
    timeline_.first_span.assign(1, 0);
    timeline_.step_end_ns.clear();
    enter_step();
  }

  bool at_collective() const { return at_collective_; }
  std::int32_t communicator() const { return communicator_; }
  std::int64_t arrival() const { return arrival_; }
  std::int64_t collective_ns() const { return cost(*current_).ns; }

  RankTimeline take() {
    timeline_.first_span.resize(static_cast<std::size_t>(last_step()) + 2, timeline_.spans.size());
    timeline_.step_end_ns.resize(static_cast<std::size_t>(last_step()) + 1, host_);
    return std::move(timeline_);
  }

  void advance() {
    while (step_ <= last_step()) {
      const Instruction* const end = begin_ + count_;
      for (; current_ != end; ++current_) {
        if (issue(*current_)) {
          at_collective_ = true;
          return;
        }
      }
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
  std::int64_t last_step() const {
    return options_.stop_step >= 0 ? options_.stop_step : options_.steps;
  }

  void enter_step() {
    const Program& program = rank_.program->step(step_);
    begin_ = program.instructions.data();
    current_ = begin_;
    count_ = program.instructions.size();
    if (step_ == options_.stop_step) {
      count_ = std::min(count_, static_cast<std::size_t>(options_.stop_instruction));
    }
    events_.assign(static_cast<std::size_t>(program.events), kUnrecorded);
  }

  const TaskCost& cost(const Instruction& i) const { return rank_.costs[cost_index(i)]; }

  // When a task issued now starts on its stream.
  std::int64_t stream_start(std::size_t stream) const {
    return std::max(host_ + options_.host.launch_latency_ns, ready_[stream]);
  }

  void finish_task(std::size_t stream, std::int64_t end) {
    passed_[stream] = end;
    ready_[stream] = end + options_.host.stream_gap_ns;
  }

  void pay_delay(std::int32_t instruction) {
    const HostDelay& delay = rank_.delays[delay_];
    if (delay.step != step_ || delay.instruction != instruction) return;
    ++delay_;
    if (delay.drains) host_ = std::max(host_, *std::max_element(passed_.begin(), passed_.end()));
    host_ += delay.ns;
  }

  // Carries out one instruction; true when it is a collective, which is then only prepared.
  bool issue(const Instruction& i) {
    issued_ = host_;
    host_ += options_.host.issue_ns[static_cast<std::size_t>(i.kind)];
    if (delay_ < rank_.delays.size()) pay_delay(static_cast<std::int32_t>(current_ - begin_));
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
      case Kind::record_event: events_[static_cast<std::size_t>(i.target)] = passed_[stream]; break;
      case Kind::wait_event: {
        const std::int64_t event = events_[static_cast<std::size_t>(i.target)];
        if (event > passed_[stream]) {
          passed_[stream] = event;
          ready_[stream] = std::max(ready_[stream], event + options_.host.event_latency_ns);
        }
        break;
      }
      case Kind::host_wait: {
        const std::int64_t event = events_[static_cast<std::size_t>(i.target)];
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
  RankTimeline timeline_;
  std::array<std::int64_t, kStreamCount> passed_{};  // when each stream has passed all so far
  std::array<std::int64_t, kStreamCount> ready_{};   // when it can start its next task
  std::vector<std::int64_t> events_;
  const Instruction* begin_ = nullptr;
  const Instruction* current_ = nullptr;
  std::size_t count_ = 0, delay_ = 0;
  std::int64_t step_ = 0;
  std::int64_t host_ = 0, issued_ = 0, arrival_ = 0;
  std::int32_t communicator_ = 0;
  bool at_collective_ = false;
};

struct CommunicatorClock {
  std::int32_t id = 0;
  std::size_t members = 0;
  std::int64_t free_at = 0;
};

CommunicatorClock& find(std::vector<CommunicatorClock>& communicators, std::int32_t id) {
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
    walks.emplace_back(rank, options, std::move(memory[walks.size()]));
    for (int g = 0; g < static_cast<int>(Group::kCount); ++g) {
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
