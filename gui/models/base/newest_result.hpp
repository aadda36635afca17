// Work on another thread of which only the newest request counts: while one runs, the latest of
// those that follow waits and the others are forgotten. Results arrive on the thread of `owner`,
// and never after it is gone; what a request computes from must be its own (shared pointers,
// copies).
#pragma once

#include <QFutureWatcher>
#include <QtConcurrent>
#include <functional>
#include <optional>
#include <utility>

namespace foreshard::gui {

template <class T>
class NewestResult {
 public:
  // `use` gets each result that is still wanted; `changed` is called when work begins and ends.
  NewestResult(QObject* owner, std::function<void(T)> use, std::function<void()> changed)
      : owner_(owner), use_(std::move(use)), changed_(std::move(changed)) {}

  bool is_busy() const { return is_running_; }

  void request(std::function<T()> compute) {
    is_wanted_ = !is_running_;
    if (is_running_) {
      next_ = std::move(compute);
    } else {
      start(std::move(compute));
    }
  }

  // Results under way are dropped.
  void forget() {
    is_wanted_ = false;
    next_.reset();
  }

 private:
  void start(std::function<T()> compute) {
    is_running_ = is_wanted_ = true;
    auto* watcher = new QFutureWatcher<T>(owner_);
    QObject::connect(watcher, &QFutureWatcher<T>::finished, owner_, [this, watcher] {
      watcher->deleteLater();
      finish(watcher->future().takeResult());
    });
    watcher->setFuture(QtConcurrent::run(std::move(compute)));
    changed_();
  }

  void finish(T result) {
    is_running_ = false;
    const bool is_wanted = is_wanted_ && !next_;
    if (next_) start(*std::exchange(next_, std::nullopt));
    if (is_wanted) use_(std::move(result));
    if (!is_running_) changed_();
  }

  QObject* owner_;
  std::function<void(T)> use_;
  std::function<void()> changed_;
  std::optional<std::function<T()>> next_;
  bool is_running_ = false, is_wanted_ = false;
};

}  // namespace foreshard::gui
