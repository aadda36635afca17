// Where the copies of a repetition begin to repeat, and what stands after the last of them.
#include <algorithm>

#include "simulator/engine/rank_walk.hpp"

namespace foreshard::simulator {

// Prepares the next copy; false where it and all that follow repeat the one before.
bool RankWalk::begin_copy() {
  if (alone_ == nullptr) {
    if (copies_ > 0) hand_over_events();
    return true;
  }
  if (copies_ == 0) {
    find_awaited_events();
  } else {
    hand_over_events();
  }
  transfers_.forget_before(streams_[static_cast<std::size_t>(Stream::compute)].passed);
  CopyTimes now = times();
  if (copies_ > 0 && is_without_delays()) {
    const auto period = copy_period(copy_began_, now, host_decided_, options_.host);
    if (period && skip_copies(*period, now)) return false;
  }
  copy_began_ = std::move(now);
  host_decided_ = false;
  delay_before_copy_ = delay_;
  return true;
}

// An event that the copy before recorded is what the next one finds in its place.
void RankWalk::hand_over_events() {
  const Repetition& r = program_->repetition;
  const auto recorded = events_.begin() + r.first_event;
  growth_.resize(static_cast<std::size_t>(r.events()));
  for (std::int32_t e = 0; e < r.events(); ++e) {
    std::int64_t& before = recorded[e - r.events()];
    growth_[static_cast<std::size_t>(e)] = recorded[e] - before;
    before = recorded[e];
  }
}

void RankWalk::find_awaited_events() {
  const Repetition& r = program_->repetition;
  awaited_.clear();
  for (const Instruction* i = begin_ + r.begin; i != begin_ + r.end; ++i) {
    const bool waits = i->kind == Kind::wait_event || i->kind == Kind::host_wait;
    if (waits && i->target < r.first_event) awaited_.push_back(i->target);
  }
}

CopyTimes RankWalk::times() const {
  CopyTimes result{host_, streams_, {}, {}, transfers_.all()};
  for (const CommunicatorClock& c : *alone_) result.communicators.push_back(c.free_at);
  for (const EventId e : awaited_) {
    result.events.push_back(events_[static_cast<std::size_t>(e)]);
  }
  return result;
}

bool RankWalk::is_without_delays() const {
  if (delay_ != delay_before_copy_) return false;
  if (step_ == options_.stop_step) return false;
  const Repetition& r = program_->repetition;
  return delay_ == rank_.delays.size() || rank_.delays[delay_].step != step_ ||
         rank_.delays[delay_].instruction >= r.end + r.more * r.length();
}

// Goes on to the end of the last copy, unless an event of theirs grows in a way of its own.
bool RankWalk::skip_copies(const CopyPeriod& period, const CopyTimes& now) {
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
  transfers_.shift(left * period.streams);
  host_ += left * period.host;
  const auto length = static_cast<std::size_t>(r.length());
  timeline_.repeated.push_back(
      {timeline_.spans.size() - length, length, left, period.host, period.streams});
  return true;
}

}  // namespace foreshard::simulator
