// The figures beside the lanes' titles: how busy each is in the window that is seen. They are made off
// the window's thread; until those of a new window are there, the last ones stay.
#pragma once

#include <memory>
#include <unordered_map>
#include <vector>

#include <QFutureWatcher>
#include <QObject>
#include <QString>

#include "gui/views/timeline/scene_row.hpp"

namespace foreshard::gui {

class RowFigures : public QObject {
  Q_OBJECT
 public:
  explicit RowFigures(QObject* parent = nullptr);

  void request(std::shared_ptr<const SceneContent> content, std::vector<std::int32_t> rows,
               traces::Interval window);
  QString of(std::int32_t row) const;  // empty where none is known
  bool is_busy() const { return is_busy_ || is_wanted_; }

 Q_SIGNALS:
  void changed();

 private:
  using Figures = std::unordered_map<std::int32_t, QString>;
  struct Request {
    std::shared_ptr<const SceneContent> content;
    std::vector<std::int32_t> rows;
    traces::Interval window;
  };

  void start();
  static Figures made(const Request& request);

  Request latest_;
  Figures figures_;
  QFutureWatcher<Figures> watcher_;
  bool is_busy_ = false, is_wanted_ = false;
};

}  // namespace foreshard::gui
