// The figures beside the lanes' titles: how busy each is in what is seen of it, and
// the mean of a counter there. They are made off
// the window's thread; until those of a new window are there, the last ones stay.
#pragma once

#include <QObject>
#include <QString>
#include <memory>
#include <unordered_map>
#include <vector>

#include "gui/models/base/newest_result.hpp"
#include "gui/views/timeline/scene_row.hpp"

namespace foreshard::gui {

class RowFigures : public QObject {
  Q_OBJECT
 public:
  explicit RowFigures(QObject* parent = nullptr);

  struct Seen {
    std::int32_t row = 0;     // RowId::number()
    traces::Interval window;  // by its document's clock
    bool operator==(const Seen&) const = default;
  };
  void request(std::shared_ptr<const SceneContent> content, std::vector<Seen> rows);
  QString of(std::int32_t row) const;  // empty where none is known
  bool is_busy() const { return newest_.is_busy(); }

 Q_SIGNALS:
  void changed();

 private:
  using Figures = std::unordered_map<std::int32_t, QString>;
  struct Request {
    std::shared_ptr<const SceneContent> content;
    std::vector<Seen> rows;
  };

  static Figures made(const Request& request);

  Request latest_;
  Figures figures_;
  NewestResult<Figures> newest_;
};

}  // namespace foreshard::gui
