#include "simulator/engine/graph_parts.hpp"

#include <algorithm>
#include <limits>
#include <span>

#include "simulator/engine/step_spans.hpp"

namespace foreshard::simulator {
namespace {

constexpr auto kNotReached = std::numeric_limits<std::size_t>::max();

// Walks one rank's program and adds its nodes and edges.
class RankBuilder {
 public:
  RankBuilder(GraphParts& parts, CommunicatorHistories& communicators, const SimulatedRank& rank,
              const RankTimeline& timeline, std::int64_t step, const EngineOptions& options,
              std::int32_t index)
      : parts_(parts),
        communicators_(communicators),
        rank_(rank),
        timeline_(timeline),
        program_(rank.program->step(step)),
        spans_(timeline, program_, static_cast<std::size_t>(step), 1),
        step_(step),
        options_(options),
        index_(index),
        reached_(static_cast<std::size_t>(program_.events)),
        stream_(rank.streams(), kNobody),
        passed_(rank.streams()),
        awaited_(rank.streams()) {
    parts_.expect(spans_.size());
    end_ = timeline.step_end_ns[static_cast<std::size_t>(step)];
    host_since_ = spans_.size() == 0 ? end_ : spans_[0].issue;
    add_earlier_work();
    // What is issued at once waits for the step to begin.
    host_ = parts_.add({index_, kNone, true, host_since_, host_since_});
  }

  // The node of the step's end.
  std::size_t build() {
    while (delay_ < rank_.delays.size() && rank_.delays[delay_].step < step_) ++delay_;
    const Repetition& r = program_.repetition;
    const auto length = static_cast<std::size_t>(r.length());
    const std::size_t behind = program_.instructions.size() - static_cast<std::size_t>(r.end);
    std::size_t next_copy = r.more > 0 ? static_cast<std::size_t>(r.begin) - length : kNotReached;
    for (std::size_t i = 0; i < spans_.size(); ++i) {
      if (i == next_copy) {
        begin_copy(i);
        next_copy = i + behind < spans_.size() ? i + length : kNotReached;
      }
      add(i);
    }
    if (next_copy == spans_.size()) begin_copy(next_copy);
    host_until(end_, kNone);
    return static_cast<std::size_t>(host_);
  }

 private:
  // An event as the streams that wait for it see it: what it is the end of, and when that was over.
  struct Reached {
    std::size_t first = 0, count = 0;  // of `tasks_`
    std::int64_t time = -1;
  };
  struct Awaited {
    std::int64_t task;
    std::int64_t latency;
  };

  // Of a repetition, or what follows its last copy, at the span `i`.
  void begin_copy(std::size_t i) {
    const Repetition& r = program_.repetition;
    LeftOutCopies& left_out = parts_.left_out;
    const std::size_t nodes = parts_.nodes.size(), last = spans_.copies_begin();
    const bool is_end = spans_.instruction(i) == static_cast<std::size_t>(r.end);
    if (i == static_cast<std::size_t>(r.begin - r.length())) left_out.first_copy = nodes;
    if (i > static_cast<std::size_t>(r.begin) && !is_end) hand_over_events();
    if (spans_.left_out() == 0) return;
    if (i == last + spans_.copy_length()) left_out.after = nodes;
    if (i != last) return;
    left_out.last = nodes;
    left_out.count = spans_.left_out();
    left_out.host_ns = spans_.host_ns();
    left_out.stream_ns = spans_.stream_ns();
    pass_left_out();
  }

  // An event that the copy before recorded is what the next one finds in its place.
  void hand_over_events() {
    const Repetition& r = program_.repetition;
    const auto recorded = reached_.begin() + r.first_event;
    std::copy(recorded, recorded + r.events(), recorded - r.events());
  }

  std::span<const std::int64_t> tasks_of(const Reached& event) const {
    return std::span(tasks_).subspan(event.first, event.count);
  }

  void pass_left_out() {
    const LeftOutCopies& left_out = parts_.left_out;
    const std::int64_t work = left_out.count * left_out.stream_ns;
    host_since_ += left_out.count * left_out.host_ns;
    for (std::size_t s = 0; s < stream_.size(); ++s) {
      const bool moves =
          parts_.left_out.has(stream_[s]) ||
          std::any_of(awaited_[s].begin(), awaited_[s].end(),
                      [&](const Awaited& awaited) { return parts_.left_out.has(awaited.task); });
      if (moves) passed_[s] += work;
    }
    for (Reached& event : reached_) {
      const auto tasks = tasks_of(event);
      const bool moves = std::any_of(tasks.begin(), tasks.end(),
                                     [&](std::int64_t task) { return parts_.left_out.has(task); });
      if (moves) event.time += work;
    }
  }

  // Streams and communicators may still be at work of earlier steps when this one begins.
  void add_earlier_work() {
    std::vector<bool> is_seen(stream_.size());
    for (std::int64_t step = step_ - 1; step >= 0; --step) {
      const Program& program = rank_.program->step(step);
      const StepSpans spans(timeline_, program, static_cast<std::size_t>(step), 1);
      for (std::size_t i = spans.size(); i-- > 0;) {
        const Instruction& instruction = program.instructions[spans.instruction(i)];
        const auto s = static_cast<std::size_t>(instruction.stream);
        if (!runs_on_stream(instruction.kind)) continue;
        CommunicatorHistory* const communicator =
            instruction.kind == Kind::collective ? &communicator_of(instruction) : nullptr;
        const bool is_last = communicator != nullptr && communicator->before == kNobody;
        if (is_seen[s] && !is_last) continue;
        const std::int64_t end = spans[i].end;
        const std::int64_t node = parts_.add({index_, kNone, false, end, end});
        if (is_last) communicator->before = node;
        if (is_seen[s]) continue;
        is_seen[s] = true;
        stream_[s] = node;
        passed_[s] = end;
      }
    }
  }

  CommunicatorHistory& communicator_of(const Instruction& i) {
    return communicators_[communicator_id(rank_.place, i.group, options_.simulated)];
  }

  // The host was busy with issuing up to this moment, and then goes on to `instruction`.
  void host_until(std::int64_t time, std::int32_t instruction) {
    if (time <= host_since_) return;
    add_host(host_since_, time, instruction);
  }

  void add_host(std::int64_t start, std::int64_t end, std::int32_t instruction) {
    const std::int64_t node = parts_.add({index_, instruction, true, start, end});
    parts_.order(host_, node, 0);
    host_ = node;
    host_since_ = end;
  }

  void add(std::size_t i) {
    const auto number = static_cast<std::int32_t>(spans_.instruction(i));
    const Instruction& instruction = program_.instructions[static_cast<std::size_t>(number)];
    if (takes_issue_time_only(instruction.kind) && !has_delays()) return;
    const Span& span = spans_[i];
    const auto s = static_cast<std::size_t>(instruction.stream);
    const std::int64_t issued = issue_end(i);
    if (drains(spans_.full_number(i))) wait_for_device(number, span, issued);
    switch (instruction.kind) {
      case Kind::record_event: {
        Reached& event = reached_[static_cast<std::size_t>(instruction.target)];
        event = {tasks_.size(), 1 + awaited_[s].size(), passed_[s]};
        tasks_.push_back(stream_[s]);
        for (const Awaited& awaited : awaited_[s]) tasks_.push_back(awaited.task);
        return;
      }
      case Kind::wait_event: {
        const Reached& event = reached_[static_cast<std::size_t>(instruction.target)];
        const bool waits = event.time > passed_[s];
        for (const std::int64_t task : tasks_of(event)) {
          awaited_[s].push_back({task, waits ? options_.host.event_latency_ns : 0});
        }
        passed_[s] = std::max(passed_[s], event.time);
        return;
      }
      case Kind::host_wait: {
        host_until(span.start, number);
        const bool waits = span.end > span.start;
        add_host(span.end, span.end, number);
        for (const std::int64_t task :
             tasks_of(reached_[static_cast<std::size_t>(instruction.target)])) {
          parts_.order(task, host_, waits ? options_.host.wait_latency_ns : 0);
        }
        return;
      }
      case Kind::host_compute:
        host_until(span.start, number);
        add_host(span.start, span.end, number);
        parts_.nodes.back().computes = true;
        return;
      case Kind::launch:
      case Kind::copy:
        host_until(issued, number);
        start(parts_.add({index_, number, false, span.start, span.end}), s, 0);
        break;
      case Kind::collective:
        host_until(issued, number);
        start(meeting(instruction, number, span), s, options_.host.rendezvous_ns);
        break;
      default: return;
    }
    passed_[s] = span.end;
  }

  // When the host was done with issuing the span's instruction.
  std::int64_t issue_end(std::size_t i) const {
    if (i + 1 == spans_.size()) return end_;
    const std::int64_t next = spans_[i + 1].issue;
    return i + 1 == spans_.copies_begin() ? next - spans_.left_out() * spans_.host_ns() : next;
  }

  // What a task of a stream has to wait for; `more` comes on top of every latency.
  void start(std::int64_t task, std::size_t stream, std::int64_t more) {
    parts_.order(host_, task, options_.host.launch_latency_ns + more);
    parts_.order(stream_[stream], task, options_.host.stream_gap_ns + more);
    for (const Awaited& before : awaited_[stream]) {
      parts_.order(before.task, task, before.latency + more);
    }
    awaited_[stream].clear();
    stream_[stream] = task;
  }

  std::int64_t meeting(const Instruction& instruction, std::int32_t number, const Span& span) {
    CommunicatorHistory& communicator = communicator_of(instruction);
    const std::size_t ordinal = ordinals_[&communicator]++;
    if (ordinal == communicator.meetings.size()) {
      const std::int64_t before =
          ordinal == 0 ? communicator.before : communicator.meetings[ordinal - 1];
      const std::int64_t node = parts_.add({index_, number, false, span.start, span.end});
      communicator.meetings.push_back(node);
      parts_.order(before, node, options_.host.rendezvous_ns);
    }
    return communicator.meetings[ordinal];
  }

  // In the rest of the step.
  bool has_delays() const {
    return delay_ < rank_.delays.size() && rank_.delays[delay_].step == step_;
  }

  // Whether the allocator made the host wait for an idle device at this instruction.
  bool drains(std::int64_t instruction) {
    if (!has_delays()) return false;
    const HostDelay& delay = rank_.delays[delay_];
    if (delay.instruction != instruction) return false;
    ++delay_;
    return delay.drains;
  }

  void wait_for_device(std::int32_t number, const Span& span, std::int64_t issued) {
    const std::int64_t issue = issue_ns(rank_, step_, static_cast<std::size_t>(number), options_);
    const std::int64_t idle = std::max(span.issue, issued - rank_.delays[delay_ - 1].ns);
    const bool waits = *std::max_element(passed_.begin(), passed_.end()) >= idle;
    host_until(waits ? std::min(idle, span.issue + issue) : idle, number);
    add_host(idle, issued, number);
    for (std::size_t s = 0; s < stream_.size(); ++s) {
      parts_.order(stream_[s], host_, 0);
      for (const Awaited& before : awaited_[s]) parts_.order(before.task, host_, 0);
    }
  }

  GraphParts& parts_;
  CommunicatorHistories& communicators_;
  const SimulatedRank& rank_;
  const RankTimeline& timeline_;
  const Program& program_;
  const StepSpans spans_;
  std::int64_t step_;
  const EngineOptions& options_;
  std::int32_t index_;
  std::vector<Reached> reached_;      // by event
  std::vector<std::int64_t> tasks_;   // of the events, in the order in which they are recorded
  std::vector<std::int64_t> stream_;  // last task of each
  std::vector<std::int64_t> passed_;  // of each, as the engine counts it
  // What a stream was told to wait for and has not started a task after yet.
  std::vector<std::vector<Awaited>> awaited_;
  std::map<const CommunicatorHistory*, std::size_t> ordinals_;
  std::int64_t host_ = kNobody, host_since_ = 0, end_ = 0;
  std::size_t delay_ = 0;
};

}  // namespace

std::size_t add_rank(GraphParts& parts, CommunicatorHistories& communicators,
                     const SimulatedRank& rank, const RankTimeline& timeline, std::int64_t step,
                     const EngineOptions& options, std::int32_t index) {
  return RankBuilder(parts, communicators, rank, timeline, step, options, index).build();
}

}  // namespace foreshard::simulator
