#include "executor/communication/last_step.hpp"

#include <algorithm>

namespace foreshard::executor {
namespace {

constexpr Nanoseconds kBetweenLooks{1'000'000};

}  // namespace

LastStepAgreement::LastStepAgreement(int process, int processes)
    : process_(process), promises_(static_cast<std::size_t>(processes), kNoPromise) {}

void LastStepAgreement::ask_locked() {
  if (own() == kNoPromise) own() = last_begun_;
}

void LastStepAgreement::ask() {
  const std::lock_guard lock(mutex_);
  ask_locked();
}

bool LastStepAgreement::is_asked() const {
  return promise() != kNoPromise;
}

std::int64_t LastStepAgreement::promise() const {
  const std::lock_guard lock(mutex_);
  return promises_[static_cast<std::size_t>(process_)];
}

void LastStepAgreement::hear(int process, std::int64_t promise) {
  if (promise == kNoPromise) return;
  const std::lock_guard lock(mutex_);
  promises_[static_cast<std::size_t>(process)] = promise;
  ask_locked();
}

bool LastStepAgreement::may_begin(std::int64_t step, RunControl& run) {
  std::unique_lock lock(mutex_);
  for (;;) {
    const auto [least, greatest] = std::ranges::minmax(promises_);
    if (own() == kNoPromise || step <= greatest) break;
    if (least != kNoPromise) return false;
    is_waiting_ = true;
    lock.unlock();
    run.sleep_for(kBetweenLooks);
    lock.lock();
    is_waiting_ = false;
  }
  last_begun_ = std::max(last_begun_, step);
  return true;
}

void LastStepAgreement::add_waits(std::vector<Wait>& waits) const {
  const std::lock_guard lock(mutex_);
  if (!is_waiting_) return;
  for (std::size_t other = 0; other < promises_.size(); ++other) {
    if (promises_[other] == kNoPromise) {
      waits.push_back({process_, static_cast<int>(other), "the agreement on the last step"});
    }
  }
}

}  // namespace foreshard::executor
