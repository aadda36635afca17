// Work off the window's thread of which only the newest request counts: one is worked on at a time,
// and of those that come meanwhile the last one follows. Work that is no longer wanted can see that
// and stop. When this goes, what runs is waited for and its result is dropped.
#pragma once

#include <QFutureWatcher>
#include <QThreadPool>
#include <QtConcurrentRun>
#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <utility>

namespace foreshard::gui {

template <typename Result>
class LatestTask {
 public:
  using Work = std::function<Result(const std::atomic<bool>& is_unwanted)>;
  using Use = std::function<void(Result)>;

  explicit LatestTask(Use use) : use_(std::move(use)) {
    pool_.setMaxThreadCount(1);
    QObject::connect(&watcher_, &QFutureWatcher<Result>::finished, [this] { finish(); });
  }
  ~LatestTask() {
    watcher_.disconnect();
    cancel();
    pool_.waitForDone();
  }

  // Replaces what waits; what runs is finished, and used.
  void ask(Work work) {
    next_ = std::move(work);
    if (!is_running_) start_next();
  }
  // Whatever was asked for is no longer wanted.
  void cancel() {
    next_.reset();
    if (is_running_) *is_unwanted_ = true;
  }
  bool is_busy() const { return next_.has_value() || (is_running_ && !*is_unwanted_); }

 private:
  void start_next() {
    is_unwanted_ = std::make_shared<std::atomic<bool>>(false);
    is_running_ = true;
    watcher_.setFuture(
        QtConcurrent::run(&pool_, [work = std::move(*std::exchange(next_, std::nullopt)),
                                   flag = is_unwanted_] { return work(*flag); }));
  }

  void finish() {
    is_running_ = false;
    const bool is_wanted = !*is_unwanted_;
    Result result = watcher_.result();
    if (next_) start_next();
    if (is_wanted) use_(std::move(result));
  }

  Use use_;
  QThreadPool pool_;
  QFutureWatcher<Result> watcher_;
  std::optional<Work> next_;
  std::shared_ptr<std::atomic<bool>> is_unwanted_ = std::make_shared<std::atomic<bool>>(false);
  bool is_running_ = false;
};

}  // namespace foreshard::gui
