// What streams run: tasks, the tags by which they are distinguished, and who watches them.
#pragma once

#include <cstdint>

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

// Told of every tagged task on the worker's own thread, right before and after it.
class TaskObserver {
 public:
  virtual ~TaskObserver() = default;
  virtual void task_begins() = 0;
  // A task that first had to wait for others (a collective for its peers) begins its own work.
  virtual void task_is_ready() = 0;
  virtual void task_finished(Tag tag) = 0;
};

// Of the task that runs on this thread; nullptr: nobody observes it.
inline thread_local TaskObserver* observer_of_this_task = nullptr;

// Called by a running task when it has stopped waiting for others.
inline void mark_ready() {
  if (observer_of_this_task != nullptr) observer_of_this_task->task_is_ready();
}

}  // namespace foreshard::executor
