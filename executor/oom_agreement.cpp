#include "executor/oom_agreement.hpp"

#include <algorithm>
#include <cstring>
#include <tuple>
#include <type_traits>

namespace foreshard::executor {
namespace {

constexpr Nanoseconds kBetweenLooks{200'000};

OutOfMemoryAgreement::Position position_of(std::int64_t step, std::int32_t instruction) {
  return static_cast<std::uint64_t>(step) << 32 | static_cast<std::uint32_t>(instruction);
}

auto order(const OutOfMemoryPoint& p) {
  return std::tuple(p.step, p.instruction, p.rank);
}

}  // namespace

OutOfMemoryAgreement::OutOfMemoryAgreement(int ranks, Transport* transport)
    : transport_(transport), reached_(static_cast<std::size_t>(ranks)) {
  if (transport == nullptr) return;
  for (int rank = 0; rank < ranks; ++rank) {
    if (rank != transport->rank()) leave(rank);
  }
}

bool OutOfMemoryAgreement::may_run(int rank, std::int64_t step, std::int32_t instruction) {
  const Position at = position_of(step, instruction);
  reached_[static_cast<std::size_t>(rank)].position.store(at, std::memory_order_relaxed);
  return at <= limit();
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

void OutOfMemoryAgreement::leave(int rank) {
  reached_[static_cast<std::size_t>(rank)].position.store(kEnd, std::memory_order_release);
}

void OutOfMemoryAgreement::settle(int rank, RunControl& run) {
  leave(rank);
  if (transport_ != nullptr) return settle_among_processes(run);
  const auto all_have_passed = [this] {
    return std::ranges::all_of(
        reached_, [limit = limit()](const Reached& r) { return r.position.load() > limit; });
  };
  while (limit() != kEnd && !all_have_passed()) run.sleep_for(kBetweenLooks);
}

void OutOfMemoryAgreement::settle_among_processes(RunControl& run) {
  static_assert(std::is_trivially_copyable_v<OutOfMemoryPoint>);
  std::string mine;
  if (const auto point = first())
    mine.assign(reinterpret_cast<const char*>(&*point), sizeof *point);
  for (const std::string& text : exchange(run, *transport_, mine)) {
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
