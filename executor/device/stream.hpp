// A stream of the CPU device: one worker thread that runs tasks in the order they were submitted,
// and events that order streams among each other and against the host.
//
// The rank's host thread submits; a task is a small trivially copyable callable, stored in place, so
// that submitting allocates nothing once the queue has reached its working length. The queue grows
// without bound: the host runs as far ahead as its program lets it. The thread starts with the first
// task. Workers sleep in the kernel while they have nothing to do, and are woken only if asleep.
//
// Events count: they carry the number of the epoch (a step, say) that has reached them, and never
// need a reset. One event belongs to one recording stream; record it on another only while both
// streams are idle. Epochs grow.
//
// A task that throws makes its rank the failure of the run; the exception is kept and re-thrown to
// the host at its next call.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <exception>
#include <memory>
#include <new>
#include <string>
#include <thread>
#include <type_traits>
#include <vector>

#include "executor/device/run_control.hpp"
#include "models/base/units.hpp"

namespace foreshard::executor {

// The caller's name for a task; in a run it tells step and instruction.
using Tag = std::uint64_t;
constexpr Tag kNoTag = ~Tag{0};  // a task that is neither reported nor counted as progress
// Such a task that has a place among the tagged ones all the same (has_finished).
constexpr Tag kUnreported = Tag{1} << 63;
constexpr Tag unreported(Tag tag) {
  return tag | kUnreported;
}

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

using Epoch = std::uint32_t;  // below 2^31

class Event {
 public:
  // Lets everybody pass who waits for this epoch or an earlier one.
  void fire(Epoch epoch);
  bool has_fired(Epoch epoch) const { return word_.load(std::memory_order_acquire) >> 1 >= epoch; }
  void wait(RunControl& run, Epoch epoch);  // blocks the calling thread; throws Aborted

 private:
  std::atomic<std::uint32_t> word_{0};  // epoch * 2 + (somebody sleeps)
};

class StreamWorker {
 public:
  static constexpr std::size_t kPayload = 112;

  // The thread is called after the rank and `name` (as much of it as fits).
  StreamWorker(RunControl& run, int rank, std::string name);
  ~StreamWorker();  // as stop()
  StreamWorker(const StreamWorker&) = delete;
  StreamWorker& operator=(const StreamWorker&) = delete;

  // Runs `task()` on the worker after everything submitted before. Host thread only.
  template <typename Task>
  void submit(Tag tag, Task task);
  void record(Event& event, Epoch epoch, Tag tag = kNoTag);
  // Later tasks run after the event; costs nothing when it has fired already.
  void wait(Event& event, Epoch epoch, Tag tag = kNoTag);
  // Blocks the host until the stream is idle.
  void synchronize();
  // Ends the thread: it finishes what was submitted, or drops it when the run is aborted.
  void stop();
  // Whether every task submitted under a tag up to `last` has finished. Tags must grow. From any
  // thread, once those tasks have been submitted.
  bool has_finished(Tag last) const;
  // Throws the exception of a task that failed on this stream, if one did.
  void rethrow();

  // nullptr: no clock is read. Only while the stream is idle.
  void set_observer(TaskObserver* observer) { observer_ = observer; }
  // Called by a running task, on its worker, when it has stopped waiting for others.
  void mark_ready();

  RunControl& run() { return run_; }
  int rank() const { return rank_; }
  RankProgress& progress() { return run_.progress(rank_); }

 private:
  struct Slot {
    void (*invoke)(std::byte* payload) = nullptr;  // nullptr: end of the stream
    Tag tag = kNoTag;
    alignas(8) std::array<std::byte, kPayload> payload;
  };
  // The queue is a list of blocks; the worker hands empty ones back to the host.
  static constexpr std::uint32_t kBlock = 64;
  struct Block {
    std::array<Slot, kBlock> slots;
    Block* next = nullptr;
  };

  void check();  // throws what ended the stream or the run
  Slot& new_slot();
  void publish();
  Block* fresh_block();
  Slot& next_task();
  void execute(Slot& slot);
  void work();
  static void free_list(Block* list);

  RunControl& run_;
  const int rank_;
  const std::string name_;
  TaskObserver* observer_ = nullptr;
  std::thread thread_;
  std::exception_ptr exception_;
  std::atomic<bool> has_failed_{false};
  Event idle_;
  Epoch idle_epoch_ = 0;

  // Host's side.
  Block* fill_ = nullptr;
  std::uint32_t submitted_ = 0;
  Block* spare_ = nullptr;

  // Shared.
  alignas(64) std::atomic<std::uint32_t> published_{0};
  std::atomic<std::uint32_t> is_asleep_{0};
  std::atomic<Block*> emptied_{nullptr};
  std::atomic<Tag> begun_{0};               // the last task begun that has a tag
  std::atomic<std::uint32_t> finished_{0};  // tasks

  // Worker's side.
  alignas(64) Block* drain_ = nullptr;
  std::uint32_t taken_ = 0;
  std::uint32_t seen_ = 0;
  bool has_begun_ = false;
  Nanoseconds ready_{0};
  bool is_timing_ = false;
};

template <typename Task>
void StreamWorker::submit(Tag tag, Task task) {
  static_assert(sizeof(Task) <= kPayload, "a task's captures must fit its slot");
  static_assert(std::is_trivially_copyable_v<Task> && std::is_trivially_destructible_v<Task>,
                "capture plain values and pointers only");
  check();
  Slot& slot = new_slot();
  slot.tag = tag;
  slot.invoke = [](std::byte* payload) { (*std::launder(reinterpret_cast<Task*>(payload)))(); };
  new (slot.payload.data()) Task(task);
  publish();
}

}  // namespace foreshard::executor
