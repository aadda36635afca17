#include <algorithm>

#include "executor/interpreter.hpp"

namespace foreshard::executor {

bool OutOfMemoryAgreement::may_run(int rank, std::int64_t step, std::int32_t instruction) {
  const std::uint64_t at = key(step, instruction);
  positions_[static_cast<std::size_t>(rank)].value.store(at, std::memory_order_relaxed);
  return at <= limit_.load(std::memory_order_relaxed);
}

void OutOfMemoryAgreement::finished(int rank) {
  positions_[static_cast<std::size_t>(rank)].value.store(~std::uint64_t{0}, std::memory_order_release);
}

void OutOfMemoryAgreement::report(const OutOfMemoryPoint& point) {
  const std::lock_guard lock(mutex_);
  const auto order = [](const OutOfMemoryPoint& p) { return std::tuple(p.step, p.instruction, p.rank); };
  if (!first_ || order(point) < order(*first_)) first_ = point;
  limit_.store(std::min(limit_.load(), key(point.step, point.instruction)));
}

void OutOfMemoryAgreement::wait_for_others(RunControl& run) {
  const auto all_passed = [this] {
    const std::uint64_t limit = limit_.load();
    return std::ranges::all_of(positions_, [limit](const Position& p) { return p.value.load() > limit; });
  };
  while (!all_passed()) run.sleep_for(Nanoseconds(200'000));
}

std::optional<OutOfMemoryPoint> OutOfMemoryAgreement::first() const {
  const std::lock_guard lock(mutex_);
  return first_;
}

}  // namespace foreshard::executor
