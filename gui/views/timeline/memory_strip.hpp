// Memory below the lanes: the selected rank's curve on the timeline's axis.
#pragma once

#include <optional>

#include <QObject>
#include <QPainter>

#include "gui/models/session/session.hpp"
#include "gui/views/timeline/ruler.hpp"

namespace foreshard::gui {

class MemoryStrip : public QObject {
  Q_OBJECT
 public:
  void show(DocumentPtr document, int rank);
  void fold(bool folded) { is_folded_ = folded; }
  bool is_folded() const { return is_folded_; }
  bool is_busy() const { return false; }
  double header_height() const { return 24; }
  double least_height() const { return is_folded_ ? header_height() : header_height() + 140; }
  void next_clock() {}
  std::optional<std::int64_t> peak_ns() const { return std::nullopt; }
  void paint(QPainter& painter, const QRectF& box, double left, const TimeAxis& axis,
             const Ruler& ruler);

 Q_SIGNALS:
  void changed();

 private:
  bool is_folded_ = true;
};

}  // namespace foreshard::gui
