#include "simulator/predict/predict_all.hpp"

#include <atomic>
#include <exception>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

namespace foreshard::simulator {
namespace {

class Predictions {
 public:
  Predictions(std::size_t count, const JobMaker& make, const PredictionOptions& options,
              const PredictionUse& use)
      : count_(count), make_(make), options_(options), use_(use), first_to_fail_(count) {}

  void run(int threads) {
    {
      std::vector<std::jthread> others;
      for (int t = 1; t < threads; ++t) others.emplace_back([this] { work(); });
      work();
    }
    if (failure_) std::rethrow_exception(failure_);
  }

 private:
  // One thread's part: the next job that nobody has, until there are none.
  void work() {
    Prediction prediction;
    for (std::size_t n = next_++; n < count_; n = next_++) {
      try {
        const Job job = make_(n);
        prediction = predict(job, options_, std::move(prediction));
        use_(n, job, prediction);
      } catch (...) {
        return fail(n);
      }
    }
  }

  // Jobs are begun in order: of those before n, all are done or will be by other threads.
  void fail(std::size_t n) {
    next_ = count_;
    const std::lock_guard lock(mutex_);
    if (n >= first_to_fail_) return;
    first_to_fail_ = n;
    failure_ = std::current_exception();
  }

  std::size_t count_;
  const JobMaker& make_;
  const PredictionOptions& options_;
  const PredictionUse& use_;
  std::atomic<std::size_t> next_ = 0;
  std::mutex mutex_;
  std::size_t first_to_fail_;
  std::exception_ptr failure_;
};

}  // namespace

void predict_all(std::size_t count, const JobMaker& make, const PredictionOptions& options,
                 int threads, const PredictionUse& use) {
  Predictions(count, make, options, use).run(threads);
}

}  // namespace foreshard::simulator
