// What streams run: tasks, the tags by which they are distinguished, and when they ran.
#pragma once

#include <cstdint>

#include "executor/device/clock.hpp"
#include "executor/device/plain_function.hpp"
#include "models/base/units.hpp"

namespace foreshard::executor {

// The caller's name for a task; in a run it holds step and instruction. Tags grow.
using Tag = std::uint64_t;
constexpr Tag kNoTag = ~Tag{0};  // a task that is neither reported nor counted as progress
// Such a task that has a place among the tagged ones all the same (has_finished).
constexpr Tag kUnreported = Tag{1} << 63;
constexpr Tag unreported(Tag tag) {
  return tag | kUnreported;
}

// Work of the host on a stream.
using StreamTask = PlainFunction<void(), 112>;

// When a task ran. `ready` is the moment a task that first had to wait for others (a collective for
// its peers) began its own work; it equals `start` for all others.
struct TaskTimes {
  Tag tag = kNoTag;
  Nanoseconds start{0}, ready{0}, end{0};  // CLOCK_MONOTONIC
  Nanoseconds cpu{0};                      // CLOCK_THREAD_CPUTIME_ID of the worker, start to end
};

// Told of every tagged task on the worker's own thread, right after the task.
class TaskObserver {
 public:
  virtual ~TaskObserver() = default;
  virtual void task_finished(const TaskTimes& times) = 0;
};

// Where the task that runs on this thread reports that it is ready; nullptr: nobody waits for it.
inline thread_local Nanoseconds* ready_time_of_this_task = nullptr;

// Called by a running task when it has stopped waiting for others.
inline void mark_ready() {
  if (ready_time_of_this_task != nullptr) *ready_time_of_this_task = monotonic_now();
}

}  // namespace foreshard::executor
