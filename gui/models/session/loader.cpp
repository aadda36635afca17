#include "gui/models/session/loader.hpp"

#include <algorithm>
#include <filesystem>
#include <utility>

#include "gui/models/base/in_background.hpp"
#include "traces/open/read_trace.hpp"

namespace foreshard::gui {
namespace {

constexpr int kProgressEveryMs = 50;

}  // namespace

Loader::Loader(QObject* parent) : QObject(parent) {
  ticks_.setInterval(kProgressEveryMs);
  connect(&ticks_, &QTimer::timeout, this, &Loader::progressed);
}

Loader::~Loader() {
  stop_.request_stop();
}

void Loader::open(const std::string& path, const Steps& steps) {
  queue_.insert(std::ranges::find_if(queue_, &Request::is_quiet), {{path}, steps});
  start_next();
}

void Loader::open_ranks(std::vector<std::string> files) {
  queue_.insert(std::ranges::find_if(queue_, &Request::is_quiet), {std::move(files), {}, true});
  start_next();
}

void Loader::reload(const Document& document, bool quietly) {
  const bool is_waiting =
      std::ranges::find(queue_, document.files, &Request::files) != queue_.end();
  if (quietly && is_waiting) return;
  const Steps steps = document.part ? Steps(document.part->steps) : std::nullopt;
  queue_.push_back({document.files, steps, document.files.size() > 1, quietly});
  start_next();
}

void Loader::cancel() {
  queue_.clear();
  if (!is_reading_) return;
  stop_.request_stop();
  watcher_.reset();
  is_reading_ = false;
  ticks_.stop();
  Q_EMIT finished();
}

Loading Loader::loading() const {
  if (!is_reading_) return {};
  return {QString::fromStdString(std::filesystem::path(request_.files.front()).filename().string()),
          progress_->done, progress_->total, static_cast<int>(queue_.size()),
          progress_->counts_events};
}

Loader::Outcome Loader::read(const Request& request, Progress& progress,
                             const std::stop_token& stop) {
  const auto kind =
      traces::recording_kind(request.files.front(), traces::every_recording().expected);
  progress.counts_events =
      kind && (*kind == traces::RecordingKind::fst || *kind == traces::RecordingKind::nsys);
  traces::ImportOptions options;
  options.on_progress = [&](std::int64_t done, std::int64_t total) {
    progress.done = done;
    progress.total = total;
  };
  options.stop = stop;
  options.steps = request.steps;
  if (request.is_of_ranks) return foreshard::gui::open_ranks(request.files, options);
  const Result<DocumentPtr> document = open_document(request.files.front(), options);
  if (!document) return tl::unexpected(document.error());
  return std::vector{*document};
}

// One file among those of several ranks takes none of the others along.
void Loader::read_without(const std::string& file) {
  Request rest = request_;
  if (std::erase(rest.files, file) == 0 || rest.files.empty()) return;
  rest.is_of_ranks = rest.files.size() > 1;
  queue_.push_front(std::move(rest));
}

void Loader::start_next() {
  if (is_reading_ || queue_.empty()) return;
  request_ = std::move(queue_.front());
  queue_.pop_front();
  is_reading_ = true;
  progress_ = std::make_shared<Progress>();
  stop_ = std::stop_source();
  watcher_ = std::make_unique<QFutureWatcher<Outcome>>();
  connect(watcher_.get(), &QFutureWatcher<Outcome>::finished, this,
          [this] { take(*result_of(watcher_->future())); });
  watcher_->setFuture(
      in_background([request = request_, progress = progress_, stop = stop_.get_token()] {
        return read(request, *progress, stop);
      }));
  ticks_.start();
  Q_EMIT progressed();
}

void Loader::take(Outcome outcome) {
  watcher_.release()->deleteLater();  // its signal is being handled
  is_reading_ = false;
  const bool was_quiet = request_.is_quiet;
  if (outcome) {
    for (const DocumentPtr& document : *outcome) Q_EMIT opened(document);
  } else if (!was_quiet) {
    if (outcome.error().file.empty()) outcome.error().file = request_.files.front();
    read_without(outcome.error().file);
    Q_EMIT failed(outcome.error());
  }
  start_next();
  if (is_busy()) return;
  ticks_.stop();
  Q_EMIT finished();
}

}  // namespace foreshard::gui
