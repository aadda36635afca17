// A stream of the CPU device: one worker thread that runs tasks in the order they were submitted,
// and events that order streams among each other and against the host.
//
// The rank's host thread submits, as far ahead as its program lets it; a task is stored in place (task.hpp,
// entry_queue.hpp). The thread starts with the first task. Workers sleep in the kernel while they have nothing to do, and are woken only if asleep.
//
// Events count: they carry the number of the epoch (such as a step) that has reached them, and never
// need a reset. One event belongs to one recording stream; record it on another only while both
// streams are idle. Epochs grow.
//
// A task that throws makes its rank the failure of the run; the exception is kept and re-thrown to
// the host at its next call.
#pragma once

#include <atomic>
#include <cstdint>
#include <exception>
#include <new>
#include <string>
#include <thread>
#include <vector>

#include "executor/device/entry_queue.hpp"
#include "executor/device/run_control.hpp"
#include "executor/device/task.hpp"
#include "models/base/units.hpp"

namespace foreshard::executor {

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
  // The thread is called after the rank and `name` (as much of it as fits).
  StreamWorker(RunControl& run, int rank, std::string name);
  ~StreamWorker();  // as stop()
  StreamWorker(const StreamWorker&) = delete;
  StreamWorker& operator=(const StreamWorker&) = delete;

  // Runs `task()` on the worker after everything submitted before. Host thread only.
  template <typename Task>
  void submit(Tag tag, const Task& task);
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

  // nullptr: nobody. Only while the stream is idle.
  void set_observer(TaskObserver* observer) { observer_ = observer; }

 private:
  struct Slot {
    StreamTask task;  // nothing: the end of the stream
    Tag tag = kNoTag;
  };

  RankProgress& progress() { return run_.progress(rank_); }
  void check();  // throws what ended the stream or the run
  void publish();
  Slot& next_task();
  void execute(Slot& slot);
  void work();

  RunControl& run_;
  const int rank_;
  const std::string name_;
  TaskObserver* observer_ = nullptr;
  std::thread thread_;
  std::exception_ptr exception_;
  std::atomic<bool> has_failed_{false};
  Event idle_;
  Epoch idle_epoch_ = 0;
  EntryQueue queue_;             // of slots
  std::uint32_t submitted_ = 0;  // host's

  // Shared.
  alignas(64) std::atomic<std::uint32_t> published_{0};
  std::atomic<std::uint32_t> is_asleep_{0};
  std::atomic<Tag> begun_{0};               // the last task begun that has a tag
  std::atomic<std::uint32_t> finished_{0};  // tasks

  // Worker's side.
  alignas(64) std::uint32_t taken_ = 0;
  std::uint32_t seen_ = 0;
};

template <typename Task>
void StreamWorker::submit(Tag tag, const Task& task) {
  check();
  new (queue_.add(sizeof(Slot))) Slot{task, tag};
  publish();
}

}  // namespace foreshard::executor
