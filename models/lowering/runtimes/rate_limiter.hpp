// FSDP1's rate limiter (limit_all_gathers, section 2.3): the host issues a gather only when of the units
// freed before it all but one have been freed on the device as well, so that it does not run ahead into
// memory that is not there yet.
#pragma once

#include <deque>

#include "models/lowering/script/emitter.hpp"

namespace foreshard::lowering {

class RateLimiter {
 public:
  RateLimiter(Emitter& emit, bool is_on) : emit_(emit), is_on_(is_on) {}

  // What was recorded in the step before has been reached by now: the host has waited for its end.
  void begin_step();
  // A unit's full parameter has been freed, as the stream sees it.
  void freed(Stream stream);
  void before_gather();
  // Whether the step leaves as much behind as it found.
  bool repeats() const { return free_events_.size() == found_; }

 private:
  Emitter& emit_;
  const bool is_on_;
  std::deque<EventId> free_events_;  // kNone: of the step before
  std::size_t found_ = 0;            // by the step at hand
};

}  // namespace foreshard::lowering
