#include "executor/device/worker_pool.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include <sched.h>

#include "executor/device/clock.hpp"
#include "executor/device/futex.hpp"
#include "executor/device/start_thread.hpp"

namespace foreshard::executor {
namespace {

// Workers of all pools of the process. Most pools of a rank, one for each stream, sleep most of the time.
std::atomic<int> awake_workers{0};

// Of the process, whose ranks may each be bound to some of them.
int usable_cores() {
  static const int cores = [] {
    cpu_set_t set;
    return ::sched_getaffinity(::getpid(), sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
  }();
  return cores;
}

void pause() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

// Whether the word has changed after a while awake: longer than the threads of a product need to find their
// next round, shorter than going to sleep and waking up cost.
bool changes_soon(const std::atomic<std::uint32_t>& word, std::uint32_t value) {
  constexpr Nanoseconds kAwake{20'000};
  constexpr int kLooks = 64;  // between two looks at the clock
  for (const Nanoseconds begin = monotonic_now(); monotonic_now() - begin < kAwake;) {
    for (int look = 0; look < kLooks; ++look) {
      if (word.load(std::memory_order_acquire) != value) return true;
      pause();
    }
  }
  return false;
}

}  // namespace

WorkerPool::WorkerPool(int threads) : threads_(std::max(threads, 1)) {
  try {
    for (int t = 1; t < threads; ++t) {
      workers_.push_back(start_thread(
          "thread " + std::to_string(t) + " of a pool of " + std::to_string(threads - 1),
          [this, t] { work(t); }));
    }
  } catch (...) {
    close();
    throw;
  }
}

WorkerPool::~WorkerPool() {
  close();
}

void WorkerPool::close() {
  is_closing_.store(true);
  round_.fetch_add(2);
  futex_wake(round_);
  for (std::thread& worker : workers_) worker.join();
}

// Pools are taken to be of one size: for each of so many workers there is a caller.
bool WorkerPool::waits_awake() const {
  const int awake = awake_workers.load(std::memory_order_relaxed);
  return awake * threads_ <= usable_cores() * (threads_ - 1);
}

// A worker counts itself among the sleepers before the kernel looks at the round's number a last time, and
// the number is raised before the sleepers are looked at: either it sees the new round or it is woken.
void WorkerPool::share(std::int64_t count, const void* context, Function function) {
  context_ = context;
  function_ = function;
  progress_ = progress_of_this_thread;
  count_ = count;
  next_.store(0, std::memory_order_relaxed);
  round_.fetch_add(1);
  if (asleep_.load() > 0) {
    futex_wake(round_, static_cast<int>(std::min<std::int64_t>(count - 1, std::ssize(workers_))));
  }
  claim_tasks(0);
  round_.fetch_add(1);
  for (std::uint32_t inside; (inside = inside_.load()) > 1;) {
    if (waits_awake() && changes_soon(inside_, inside)) continue;
    if ((inside & 1) != 0 || inside_.compare_exchange_strong(inside, inside | 1)) {
      futex_wait(inside_, inside | 1);
    }
  }
  inside_.fetch_and(~1U);
  if (failure_ != nullptr) std::rethrow_exception(std::exchange(failure_, nullptr));
}

void WorkerPool::work(int thread) {
  ++awake_workers;
  for (std::uint32_t seen = 0;;) {
    while (round_.load() == seen) {
      if (waits_awake() && changes_soon(round_, seen)) break;
      ++asleep_, --awake_workers;
      futex_wait(round_, seen);
      --asleep_, ++awake_workers;
    }
    seen = round_.load();
    if (is_closing_.load()) {
      --awake_workers;
      return;
    }
    if (seen % 2 == 0) continue;
    inside_.fetch_add(2);
    if (round_.load() == seen) {
      progress_of_this_thread = progress_;
      claim_tasks(thread);
    }
    if (inside_.fetch_sub(2) == 3) futex_wake(inside_, 1);
  }
}

void WorkerPool::claim_tasks(int thread) {
  for (std::int64_t i; (i = next_.fetch_add(1, std::memory_order_relaxed)) < count_;) {
    try {
      function_(context_, i, thread);
    } catch (...) {
      const std::lock_guard lock(failure_mutex_);
      if (failure_ == nullptr) failure_ = std::current_exception();
      next_.store(count_, std::memory_order_relaxed);
    }
    note_progress();
  }
}

}  // namespace foreshard::executor
