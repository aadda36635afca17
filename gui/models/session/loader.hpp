// Opens recordings one after another on a thread of their own while the window stays usable. Reading
// stops where it was cancelled, and where the loader is gone.
#pragma once

#include <QFutureWatcher>
#include <QTimer>
#include <atomic>
#include <deque>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "gui/models/session/document.hpp"

namespace foreshard::gui {

// How far the recording that is being read has come, in events or in bytes; `total` 0: not known.
struct Loading {
  QString name;  // of the file
  std::int64_t done = 0, total = 0;
  int waiting = 0;  // further files
  bool counts_events = false;
};

class Loader : public QObject {
  Q_OBJECT
 public:
  explicit Loader(QObject* parent = nullptr);
  ~Loader() override;

  using Steps = std::optional<traces::StepRange>;  // nothing: all

  // Files come in the order in which they were asked for, but those that are followed wait for the others.
  void open(const std::string& path, const Steps& steps = {});
  void open_ranks(std::vector<std::string> files);  // of PyTorch's profiler: a document of each run
  // `quietly`: of a recording that is followed; its failure is no news, as it may be just being written. It is read
  // once more, however often it grows while others are read.
  void reload(const Document& document, bool quietly);
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
    std::vector<std::string> files;
    Steps steps;
    bool is_of_ranks = false;
    bool is_quiet = false;
  };
  struct Progress {
    std::atomic<std::int64_t> done{0}, total{0};
    std::atomic<bool> counts_events{false};
  };
  using Outcome = Result<std::vector<DocumentPtr>>;

  static Outcome read(const Request& request, Progress& progress, const std::stop_token& stop);
  void start_next();
  void read_without(const std::string& file);
  void take(Outcome outcome);

  std::deque<Request> queue_;
  Request request_;
  bool is_reading_ = false;
  std::shared_ptr<Progress> progress_;
  std::stop_source stop_;  // of what is being read
  std::unique_ptr<QFutureWatcher<Outcome>> watcher_;
  QTimer ticks_;
};

}  // namespace foreshard::gui
