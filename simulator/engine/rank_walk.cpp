#include "simulator/engine/rank_walk.hpp"

#include <algorithm>

namespace foreshard::simulator {
namespace {

constexpr std::int64_t kUnrecorded = -1;
constexpr auto kComputeStream = static_cast<std::size_t>(Stream::compute);

}  // namespace

RankWalk::RankWalk(const SimulatedRank& rank, const EngineOptions& options, RankTimeline memory,
                   std::vector<CommunicatorClock>* alone)
    : rank_(rank),
      options_(options),
      alone_(alone),
      timeline_(std::move(memory)),
      cost_places_(cost_places(rank.program->place)),
      streams_(rank.streams()),
      step_(options.first_step) {
  std::size_t spans = 0;
  for (std::int64_t s = step_; s <= last_step(); ++s)
    spans += rank.program_of(s, options.steps).instructions.size();
  timeline_.spans.clear();
  timeline_.spans.reserve(spans);
  timeline_.first_span.assign(static_cast<std::size_t>(step_) + 1, 0);
  timeline_.step_end_ns.assign(static_cast<std::size_t>(step_), 0);
  timeline_.repeated.clear();
  while (delay_ < rank.delays.size() && rank.delays[delay_].step < step_) ++delay_;
  enter_step();
}

RankTimeline RankWalk::take() {
  timeline_.first_span.resize(static_cast<std::size_t>(last_step()) + 2, timeline_.spans.size());
  timeline_.step_end_ns.resize(static_cast<std::size_t>(last_step()) + 1, host_);
  return std::move(timeline_);
}

void RankWalk::advance() {
  while (step_ <= last_step()) {
    do {
      for (;;) {
        issue_host_only();
        if (current_ >= end_) break;
        if (issue(*current_)) {
          at_collective_ = true;
          return;
        }
        ++current_;
      }
    } while (enter_next_stretch());
    timeline_.step_end_ns.push_back(host_);
    timeline_.first_span.push_back(timeline_.spans.size());
    if (++step_ <= last_step()) enter_step();
  }
  at_collective_ = false;
}

void RankWalk::pass_collective(std::int64_t start, std::int64_t end) {
  transfers_.forget_before(streams_[kComputeStream].passed);
  transfers_.add(start, end, cost(*current_));
  finish_task(static_cast<std::size_t>(current_->stream), end);
  timeline_.spans.push_back({issued_, start, end});
  ++current_;
}

void RankWalk::enter_step() {
  program_ = &rank_.program_of(step_, options_.steps);
  begin_ = program_->instructions.data();
  issue_times_ = rank_.issue_of(step_, options_.steps);
  events_.assign(static_cast<std::size_t>(program_->events), kUnrecorded);
  copies_ = skipped_ = 0;
  is_last_stretch_ = program_->repetition.more == 0;
  enter(0, is_last_stretch_ ? program_->instructions.size()
                            : static_cast<std::size_t>(program_->repetition.begin));
}

// Instructions [begin, end) as they are written down, as far as the step goes.
void RankWalk::enter(std::size_t begin, std::size_t end) {
  current_ = begin_ + begin;
  end_ = begin_ + end;
  if (step_ != options_.stop_step) return;
  const std::int64_t stop = options_.stop_instruction - skipped_;
  end_ = std::min(end_, begin_ + std::max<std::int64_t>(0, stop));
}

// The copies of the step's repetition, as far as they do not repeat, then the rest; false where the
// step is over.
bool RankWalk::enter_next_stretch() {
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

// When a task issued now starts on its stream.
std::int64_t RankWalk::stream_start(std::size_t stream) {
  const std::int64_t launched = host_ + options_.host.launch_latency_ns;
  host_decided_ |= launched >= streams_[stream].ready;
  return std::max(launched, streams_[stream].ready);
}

void RankWalk::finish_task(std::size_t stream, std::int64_t end) {
  streams_[stream] = {end, end + options_.host.stream_gap_ns};
}

std::int64_t RankWalk::end_of_task(std::size_t stream, std::int64_t start, const TaskCost& cost) {
  if (cost.lacks == Part::kCount || stream != kComputeStream) return start + cost.ns;
  return transfers_.end_of_kernel(start, cost);
}

// When a copy ends that starts then; what it takes of the link to the host, later transfers lack.
std::int64_t RankWalk::pass_copy(std::int64_t start, const TaskCost& cost) {
  if (!takes_host_link(cost)) return start + cost.ns;
  const std::int64_t end = transfers_.end_of_transfer(start, cost);
  transfers_.forget_before(streams_[kComputeStream].passed);
  transfers_.add(start, end, cost);
  return end;
}

void RankWalk::pay_delay(std::int32_t instruction) {
  const HostDelay& delay = rank_.delays[delay_];
  if (delay.step != step_ || delay.instruction != instruction) return;
  ++delay_;
  if (delay.drains) {
    for (const StreamTimes& stream : streams_) host_ = std::max(host_, stream.passed);
  }
  host_ += delay.ns;
}

std::int64_t RankWalk::issue_ns(const Instruction& i) const {
  return issue_times_ == nullptr ? options_.host.issue_ns[static_cast<std::size_t>(i.kind)]
                                 : issue_times_[&i - begin_];
}

// Where the host is next kept by the allocator, or the stretch ends.
const Instruction* RankWalk::next_delay() const {
  if (delay_ == rank_.delays.size() || rank_.delays[delay_].step != step_) return end_;
  return std::min(end_, begin_ + (rank_.delays[delay_].instruction - skipped_));
}

// Instructions that take issue time and nothing else, from the one at hand to the first of another kind.
void RankWalk::issue_host_only() {
  const Instruction* const stop = next_delay();
  const Instruction* end = current_;
  while (end < stop && takes_issue_time_only(end->kind)) ++end;
  const auto spans = timeline_.spans.size();
  timeline_.spans.resize(spans + static_cast<std::size_t>(end - current_));
  Span* span = timeline_.spans.data() + spans;
  for (; current_ < end; ++current_) {
    const std::int64_t issued = host_;
    host_ += issue_ns(*current_);
    *span++ = {issued, issued, host_};
  }
}

// Carries out one instruction; true when it is a collective, which is then only prepared.
bool RankWalk::issue(const Instruction& i) {
  issued_ = host_;
  host_ += issue_ns(i);
  if (delay_ < rank_.delays.size())
    pay_delay(static_cast<std::int32_t>(current_ - begin_) + skipped_);
  Span span{issued_, issued_, host_};
  const auto stream = static_cast<std::size_t>(i.stream);
  switch (i.kind) {
    case Kind::launch:
      span.start = stream_start(stream);
      span.end = end_of_task(stream, span.start, cost(i));
      finish_task(stream, span.end);
      break;
    case Kind::copy:
      span.start = stream_start(stream);
      span.end = pass_copy(span.start, cost(i));
      finish_task(stream, span.end);
      break;
    case Kind::collective:
      arrival_ = stream_start(stream);
      communicator_ = communicator_id(rank_.place, i.group, options_.simulated);
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

}  // namespace foreshard::simulator
