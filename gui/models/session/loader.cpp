#include "gui/models/session/loader.hpp"

#include <QtConcurrent>
#include <filesystem>
#include <utility>

namespace foreshard::gui {
namespace {

constexpr int kProgressEveryMs = 50;

}  // namespace

Loader::Loader(QObject* parent) : QObject(parent) {
  ticks_.setInterval(kProgressEveryMs);
  connect(&ticks_, &QTimer::timeout, this, &Loader::progressed);
}

void Loader::open(const std::string& path) {
  queue_.push_back({path, false});
  start_next();
}

void Loader::reload(const std::string& path, bool quietly) {
  queue_.push_back({path, quietly});
  start_next();
}

void Loader::cancel() {
  queue_.clear();
  if (!is_reading_) return;
  watcher_.reset();
  is_reading_ = false;
  ticks_.stop();
  Q_EMIT finished();
}

Loading Loader::loading() const {
  if (!is_reading_) return {};
  return {QString::fromStdString(std::filesystem::path(request_.path).filename().string()),
          progress_->done, progress_->total, static_cast<int>(queue_.size())};
}

void Loader::start_next() {
  if (is_reading_ || queue_.empty()) return;
  request_ = std::move(queue_.front());
  queue_.pop_front();
  is_reading_ = true;
  progress_ = std::make_shared<Progress>();
  watcher_ = std::make_unique<QFutureWatcher<Outcome>>();
  connect(watcher_.get(), &QFutureWatcher<Outcome>::finished, this,
          [this] { take(watcher_->result()); });
  watcher_->setFuture(QtConcurrent::run([path = request_.path, progress = progress_]() -> Outcome {
    return std::make_shared<const Result<DocumentPtr>>(
        open_document(path, [progress](std::int64_t done, std::int64_t total) {
          progress->done = done;
          progress->total = total;
        }));
  }));
  ticks_.start();
  Q_EMIT progressed();
}

void Loader::take(const Outcome& outcome) {
  watcher_.release()->deleteLater();  // its signal is being handled
  is_reading_ = false;
  const bool was_quiet = request_.is_quiet;
  if (*outcome) {
    Q_EMIT opened(**outcome);
  } else if (!was_quiet) {
    Q_EMIT failed(outcome->error());
  }
  start_next();
  if (is_busy()) return;
  ticks_.stop();
  Q_EMIT finished();
}

}  // namespace foreshard::gui
