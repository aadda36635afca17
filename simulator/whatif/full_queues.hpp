// Launches that waited because the queue of their stream was full.
//
// A driver takes so many launches ahead of a stream, 1,024 of CUDA's, and holds the host in the next until work of
// that stream begins. A call that launches several, as that of a CUDA graph does, is one launch. A recording shows it by calls that take long while the queue is as deep as it gets and return
// when work of their stream has begun. How deep it gets is then known, for launches that found room as well.
#pragma once

#include <cstdint>
#include <vector>

#include "simulator/whatif/recorded_run.hpp"

namespace foreshard::simulator {

struct QueuedLaunch {
  std::int32_t room = kNotRecorded;  // the work that must have begun before the call returns
  std::int64_t own_ns = -1;          // what the call would have taken; -1: it found room
  bool was_held() const { return own_ns >= 0; }
};

// Of each call of the run; empty where no queue was full.
std::vector<QueuedLaunch> full_queues(const RecordedRun& run);

}  // namespace foreshard::simulator
