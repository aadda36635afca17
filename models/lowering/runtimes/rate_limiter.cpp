#include "models/lowering/runtimes/rate_limiter.hpp"

#include <algorithm>

namespace foreshard::lowering {

void RateLimiter::begin_step() {
  std::fill(free_events_.begin(), free_events_.end(), kNone);
  found_ = free_events_.size();
}

void RateLimiter::freed(Stream stream) {
  if (is_on_) free_events_.push_back(emit_.record(stream));
}

void RateLimiter::before_gather() {
  constexpr std::size_t kInFlight = 2;  // _max_num_inflight_all_gathers
  if (free_events_.size() < kInFlight) return;
  const EventId oldest = free_events_.front();
  free_events_.pop_front();
  if (oldest == kNone) return;
  const auto range = emit_.range(Range::fsdp1_rate_limiter);
  emit_.host_wait(oldest);
}

}  // namespace foreshard::lowering
