// Work on another thread of which only the newest request counts: while one runs, the latest of
// those that follow waits and the others are forgotten. Results arrive on the thread of `owner`,
// and never after it is gone; what a request computes from must be its own (shared pointers,
// copies). Work that takes an argument can see that it is no longer wanted, and stop.
//
// When this goes, nobody waits for what still runs but the application at its end.
#pragma once

#include <QCoreApplication>
#include <QFutureWatcher>
#include <QThreadPool>
#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>

#include "gui/models/base/in_background.hpp"

namespace foreshard::gui {

// What becomes of a result that a newer request has overtaken. Where each is shown with what it
// answers, those that are used keep a picture moving during a drag.
enum class Overtaken : std::uint8_t { dropped, used };

template <class T>
class NewestResult {
 public:
  // `use` gets each result that is still wanted; `changed` is called when work begins and ends. Of work that throws
  // there is no result, or an error.
  NewestResult(QObject* owner, std::function<void(T)> use, std::function<void()> changed,
               Overtaken overtaken = Overtaken::dropped)
      : owner_(owner),
        use_(std::move(use)),
        changed_(std::move(changed)),
        overtaken_(overtaken),
        pool_(std::make_unique<QThreadPool>()) {
    pool_->setMaxThreadCount(1);
  }
  NewestResult(const NewestResult&) = delete;
  NewestResult& operator=(const NewestResult&) = delete;
  ~NewestResult() {
    *is_unwanted_ = true;
    if (pool_->activeThreadCount() > 0) pool_.release()->setParent(QCoreApplication::instance());
  }

  bool is_busy() const { return next_.has_value() || (is_running_ && !*is_unwanted_); }

  template <class Compute>
  void request(Compute compute) {
    Work work;
    if constexpr (std::is_invocable_v<Compute&, const std::atomic<bool>&>) {
      work = std::move(compute);
    } else {
      work = [compute = std::move(compute)](const std::atomic<bool>&) mutable { return compute(); };
    }
    if (!is_running_) return start(std::move(work));
    next_ = std::move(work);
    if (overtaken_ == Overtaken::dropped) *is_unwanted_ = true;
  }

  // Results under way are dropped.
  void forget() {
    const bool was_busy = is_busy();
    next_.reset();
    *is_unwanted_ = true;
    if (was_busy) changed_();
  }

 private:
  using Work = std::function<T(const std::atomic<bool>& is_unwanted)>;

  void start(Work work) {
    is_running_ = true;
    is_unwanted_ = std::make_shared<std::atomic<bool>>(false);
    auto* watcher = new QFutureWatcher<T>(owner_);
    QObject::connect(watcher, &QFutureWatcher<T>::finished, owner_, [this, watcher] {
      watcher->deleteLater();
      finish(result_of(watcher->future()));
    });
    watcher->setFuture(in_background(
        [work = std::move(work), is_unwanted = is_unwanted_] { return work(*is_unwanted); },
        *pool_));
    changed_();
  }

  void finish(std::optional<T> result) {
    is_running_ = false;
    const bool is_wanted = !*is_unwanted_;
    if (next_) start(*std::exchange(next_, std::nullopt));
    if (is_wanted && result) use_(*std::move(result));
    if (!is_busy()) changed_();
  }

  QObject* owner_;
  std::function<void(T)> use_;
  std::function<void()> changed_;
  Overtaken overtaken_;
  std::unique_ptr<QThreadPool> pool_;
  std::optional<Work> next_;
  std::shared_ptr<std::atomic<bool>> is_unwanted_ = std::make_shared<std::atomic<bool>>(true);
  bool is_running_ = false;
};

}  // namespace foreshard::gui
