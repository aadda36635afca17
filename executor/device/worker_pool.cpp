#include "executor/device/worker_pool.hpp"

#include <string>
#include <utility>

#include "executor/device/start_thread.hpp"

namespace foreshard::executor {

WorkerPool::WorkerPool(int threads) {
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
  {
    const std::lock_guard lock(mutex_);
    is_closing_ = true;
  }
  started_.notify_all();
  for (std::thread& worker : workers_) worker.join();
}

void WorkerPool::share(std::int64_t count, const void* context, Function function) {
  std::unique_lock lock(mutex_);
  context_ = context;
  function_ = function;
  progress_ = progress_of_this_thread;
  count_ = count;
  next_ = 0;
  ++round_;
  started_.notify_all();
  claim_tasks(lock, 0);
  finished_.wait(lock, [this] { return running_ == 0; });
  if (failure_ != nullptr) std::rethrow_exception(std::exchange(failure_, nullptr));
}

void WorkerPool::work(int thread) {
  std::unique_lock lock(mutex_);
  for (std::uint64_t seen = 0;;) {
    started_.wait(lock, [&] { return is_closing_ || round_ != seen; });
    if (is_closing_) return;
    seen = round_;
    progress_of_this_thread = progress_;
    claim_tasks(lock, thread);
    if (running_ == 0) finished_.notify_one();
  }
}

void WorkerPool::claim_tasks(std::unique_lock<std::mutex>& lock, int thread) {
  while (next_ < count_) {
    const std::int64_t i = next_++;
    ++running_;
    lock.unlock();
    std::exception_ptr failure;
    try {
      function_(context_, i, thread);
    } catch (...) {
      failure = std::current_exception();
    }
    note_progress();
    lock.lock();
    --running_;
    if (failure != nullptr) {
      if (failure_ == nullptr) failure_ = failure;
      next_ = count_;
    }
  }
}

}  // namespace foreshard::executor
