// The threads that share one kernel's work. A stream's own thread is one of them; the others wait for the
// next round of tasks: for some microseconds awake, as the rounds of one product follow each other at once,
// then asleep. None waits awake where the workers of all pools that are awake, and those they work for,
// are more than the process has cores. With one thread everything runs inline.
//
// Tasks are claimed one by one, so which thread runs a task is up to chance: results must depend on
// the task's number alone. A task that throws ends the rest, and run() throws the first exception.
// Every task done is progress of the caller's rank (executor/device/progress.hpp).
//
// A round is open while its number is odd. A worker counts itself in, looks whether the round is still
// open, and claims tasks until none is left; the caller closes the round when it finds none left itself, and
// waits until nobody is inside. So the round's tasks are done then, and nobody reads what the next one changes.
#pragma once

#include <atomic>
#include <cstdint>
#include <exception>
#include <mutex>
#include <thread>
#include <type_traits>
#include <vector>

#include "executor/device/progress.hpp"

namespace foreshard::executor {

class WorkerPool {
 public:
  // Throws where the system lends no more threads; those that were started have ended then.
  explicit WorkerPool(int threads = 1);
  ~WorkerPool();
  WorkerPool(const WorkerPool&) = delete;
  WorkerPool& operator=(const WorkerPool&) = delete;

  int threads() const { return threads_; }

  // task(i, thread) for every i in [0, count), thread below threads(); returns when all are done.
  // One caller at a time, and no nesting.
  template <class Task>
  void run(std::int64_t count, const Task& task) {
    if (workers_.empty() || count <= 1) {
      for (std::int64_t i = 0; i < count; ++i) {
        task(i, 0);
        note_progress();
      }
      return;
    }
    share(count, &task, [](const void* context, std::int64_t i, int thread) {
      (*static_cast<const Task*>(context))(i, thread);
    });
  }

  // task(begin, end, thread) over [0, count) in pieces of `grain`, which must not depend on the
  // thread count where the result depends on the pieces.
  template <class Task>
  void run_ranges(std::int64_t count, std::int64_t grain, const Task& task) {
    run((count + grain - 1) / grain, [&](std::int64_t piece, int thread) {
      const std::int64_t begin = piece * grain;
      task(begin, begin + grain < count ? begin + grain : count, thread);
    });
  }

 private:
  using Function = void (*)(const void* context, std::int64_t i, int thread);

  void share(std::int64_t count, const void* context, Function function);
  void work(int thread);
  void close();
  void claim_tasks(int thread);
  bool waits_awake() const;

  const int threads_;
  std::vector<std::thread> workers_;  // one less

  // The round's, written while nobody is inside.
  const void* context_ = nullptr;
  Function function_ = nullptr;
  RankProgress* progress_ = nullptr;  // the caller's
  std::int64_t count_ = 0;

  std::mutex failure_mutex_;
  std::exception_ptr failure_;
  std::atomic<bool> is_closing_{false};

  alignas(64) std::atomic<std::uint32_t> round_{0};
  std::atomic<int> asleep_{0};                     // workers
  alignas(64) std::atomic<std::int64_t> next_{0};  // task
  alignas(64) std::atomic<std::uint32_t> inside_{
      0};  // workers, times two; one more: the caller sleeps
};

}  // namespace foreshard::executor
