// Work on other threads gives way to the window's, so that frames do not wait for it where there are
// few processors.
#pragma once

#include <QFuture>
#include <QPromise>
#include <QRunnable>
#include <QThreadPool>
#include <atomic>
#include <exception>
#include <new>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>

#include "models/base/error.hpp"

namespace foreshard::gui {

// Called by a thread of a pool: from now on it gets about a third of a processor where the window's
// thread wants it too, and all of it otherwise.
void give_way_to_window();

template <class Work>
class BackgroundTask : public QRunnable {
 public:
  using Value = std::invoke_result_t<Work&>;

  explicit BackgroundTask(Work work) : work_(std::move(work)) {}

  // The task is the pool's from now on.
  QFuture<Value> start(QThreadPool& pool) {
    promise_.start();
    QFuture<Value> future = promise_.future();
    is_handed_over_ = true;
    pool.start(this);
    return future;
  }

  void run() override {
    is_handed_over_.wait(false);  // before anything else of this object is read
    give_way_to_window();
    try {
      promise_.addResult(compute());
    } catch (...) {
      promise_.setException(std::current_exception());
    }
    promise_.finish();
  }

 private:
  // What the work was given is let go before its result is there. What a lambda captured as constant is
  // not moved but copied, so that the original goes too.
  Value compute() {
    Work work = *std::move(work_);
    work_.reset();
    return work();
  }

  // Carries what was written before the start to the thread that runs it. Qt's queue does so too, but
  // a thread sanitizer sees only what was compiled for it, which Qt is not.
  std::atomic<bool> is_handed_over_ = false;
  std::optional<Work> work_;
  QPromise<Value> promise_;
};

// A future of what `work` returns.
template <class Work>
auto in_background(Work work, QThreadPool& pool = *QThreadPool::globalInstance()) {
  return (new BackgroundTask<Work>(std::move(work)))->start(pool);
}

// What finished work made. Where it threw, as for want of memory, an error if that can be its result, else nothing.
template <class T>
std::optional<T> result_of(QFuture<T> finished) {
  std::string why;
  try {
    return finished.takeResult();
  } catch (const std::bad_alloc&) {
    why = "there is not enough memory for it";
  } catch (const std::exception& thrown) {
    why = thrown.what();
  }
  if constexpr (std::is_constructible_v<T, tl::unexpected<Error>>) return T(fail("", "", why));
  return std::nullopt;
}

}  // namespace foreshard::gui
