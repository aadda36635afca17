// Opens recordings one after another on a thread of their own while the window stays usable. What was
// cancelled, and what is not wanted any more because the loader is gone, is dropped when it comes.
#pragma once

#include <QFutureWatcher>
#include <QTimer>
#include <atomic>
#include <deque>
#include <memory>

#include "gui/models/session/document.hpp"

namespace foreshard::gui {

// How far the recording that is being read has come, in a unit of its own; `total` 0: not known.
struct Loading {
  QString name;  // of the file
  std::int64_t done = 0, total = 0;
  int waiting = 0;  // further files
};

class Loader : public QObject {
  Q_OBJECT
 public:
  explicit Loader(QObject* parent = nullptr);

  void open(const std::string& path);
  // `quietly`: of a recording that is followed; its failure is no news, as it may be just being written.
  void reload(const std::string& path, bool quietly);
  void cancel();  // all that has not come yet

  bool is_busy() const { return is_reading_ || !queue_.empty(); }
  bool is_quiet() const { return is_reading_ && request_.is_quiet; }
  Loading loading() const;

 Q_SIGNALS:
  void progressed();
  void opened(foreshard::gui::DocumentPtr document);
  void failed(const foreshard::Error& error);
  void finished();  // nothing is being read any more

 private:
  struct Request {
    std::string path;
    bool is_quiet = false;
  };
  struct Progress {
    std::atomic<std::int64_t> done{0}, total{0};
  };
  using Outcome = std::shared_ptr<const Result<DocumentPtr>>;

  void start_next();
  void take(const Outcome& outcome);

  std::deque<Request> queue_;
  Request request_;
  bool is_reading_ = false;
  std::shared_ptr<Progress> progress_;
  std::unique_ptr<QFutureWatcher<Outcome>> watcher_;
  QTimer ticks_;
};

}  // namespace foreshard::gui
