#include "executor/communication/oom_agreement.hpp"

#include <algorithm>
#include <cstring>
#include <tuple>
#include <type_traits>

namespace foreshard::executor {
namespace {

OutOfMemoryAgreement::Position position_of(std::int64_t step, std::int32_t instruction) {
  return static_cast<std::uint64_t>(step) << 32 | static_cast<std::uint32_t>(instruction);
}

auto order(const OutOfMemoryPoint& p) {
  return std::tuple(p.step, p.instruction, p.rank);
}

}  // namespace

OutOfMemoryAgreement::OutOfMemoryAgreement(int ranks) : ranks_(static_cast<std::size_t>(ranks)) {}

bool OutOfMemoryAgreement::may_run(int number, std::int64_t step, std::int32_t instruction) {
  const Position at = position_of(step, instruction);
  rank(number).reached.store(at, std::memory_order_release);
  return at <= limit_.load(std::memory_order_relaxed);
}

void OutOfMemoryAgreement::report(const OutOfMemoryPoint& point) {
  {
    const std::lock_guard lock(mutex_);
    if (!first_ || order(point) < order(*first_)) first_ = point;
  }
  lower_limit(position_of(point.step, point.instruction));
}

void OutOfMemoryAgreement::lower_limit(Position limit) {
  Position known = limit_.load();
  while (limit < known && !limit_.compare_exchange_weak(known, limit)) {
  }
}

void OutOfMemoryAgreement::leave(int number) {
  rank(number).reached.store(kEnd, std::memory_order_release);
}

void OutOfMemoryAgreement::finish(int number) {
  rank(number).done.store(kEnd, std::memory_order_release);
}

OutOfMemoryAgreement::Position OutOfMemoryAgreement::done(int number) const {
  return ranks_[static_cast<std::size_t>(number)].done.load(std::memory_order_acquire);
}

void OutOfMemoryAgreement::look(int number,
                                const std::function<bool(Position last)>& has_finished) {
  const Position last = limit();
  if (last == kNone || done(number) > last) return;
  if (rank(number).reached.load(std::memory_order_acquire) <= last) return;
  if (has_finished(last)) rank(number).done.store(last + 1, std::memory_order_release);
}

void OutOfMemoryAgreement::hear(int number, Position done, Position limit) {
  lower_limit(limit);
  rank(number).done.store(done, std::memory_order_release);
}

// The limit is read after the ranks: whoever failed before the place with which it is done has
// lowered the limit first.
bool OutOfMemoryAgreement::is_settled() const {
  Position least = kEnd;
  for (const Rank& r : ranks_) least = std::min(least, r.done.load(std::memory_order_acquire));
  return least > limit();
}

void OutOfMemoryAgreement::correct(std::vector<Wait>& waits) const {
  const Position last = limit();
  if (last == kNone) return;
  std::erase_if(waits, [&](const Wait& wait) { return done(wait.awaited) > last; });
  const auto count = static_cast<int>(ranks_.size());
  int waiter = 0;
  while (waiter < count && done(waiter) <= last) ++waiter;
  if (waiter == count) return;
  for (int other = 0; other < count; ++other) {
    if (done(other) <= last) waits.push_back({waiter, other, "what comes before out of memory"});
  }
}

void OutOfMemoryAgreement::share(RunControl& run, Transport& transport) {
  static_assert(std::is_trivially_copyable_v<OutOfMemoryPoint>);
  std::string mine;
  if (const auto point = first())
    mine.assign(reinterpret_cast<const char*>(&*point), sizeof *point);
  for (const std::string& text : exchange(run, transport, mine)) {
    OutOfMemoryPoint theirs;
    if (text.size() != sizeof theirs) continue;
    std::memcpy(&theirs, text.data(), sizeof theirs);
    report(theirs);
  }
}

std::optional<OutOfMemoryPoint> OutOfMemoryAgreement::first() const {
  const std::lock_guard lock(mutex_);
  return first_;
}

}  // namespace foreshard::executor
