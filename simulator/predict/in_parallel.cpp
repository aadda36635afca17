#include "simulator/predict/in_parallel.hpp"

#include <atomic>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

namespace foreshard::simulator {
namespace {

using Work = std::function<void(std::size_t, std::size_t)>;

class ParallelWork {
 public:
  ParallelWork(std::size_t count, const Work& work)
      : count_(count), work_(work), first_to_fail_(count) {}

  void run(int threads) {
    {
      std::vector<std::jthread> others;
      for (int t = 1; t < threads; ++t) {
        others.emplace_back([this, t] { work_on(static_cast<std::size_t>(t)); });
      }
      work_on(0);
    }
    if (failure_) std::rethrow_exception(failure_);
  }

 private:
  // One thread's part: the next piece that nobody has, until there are none.
  void work_on(std::size_t thread) {
    for (std::size_t n = next_++; n < count_; n = next_++) {
      try {
        work_(n, thread);
      } catch (...) {
        return fail(n);
      }
    }
  }

  // Pieces are begun in order: of those before n, all are done or will be by other threads.
  void fail(std::size_t n) {
    next_ = count_;
    const std::lock_guard lock(mutex_);
    if (n >= first_to_fail_) return;
    first_to_fail_ = n;
    failure_ = std::current_exception();
  }

  std::size_t count_;
  const Work& work_;
  std::atomic<std::size_t> next_ = 0;
  std::mutex mutex_;
  std::size_t first_to_fail_;
  std::exception_ptr failure_;
};

}  // namespace

void in_parallel(std::size_t count, int threads, const Work& work) {
  ParallelWork(count, work).run(threads);
}

}  // namespace foreshard::simulator
