// Memory below the lanes: the selected rank's curve on the timeline's axis, with its peak, what is
// allocated under the cursor, and the device's capacity.
#pragma once

#include <QFutureWatcher>
#include <QObject>
#include <QPainter>
#include <optional>

#include "gui/models/session/session.hpp"
#include "gui/views/base/memory_plot.hpp"
#include "gui/views/base/ruler.hpp"

namespace foreshard::gui {

class MemoryStrip : public QObject {
  Q_OBJECT
 public:
  explicit MemoryStrip(QObject* parent = nullptr);

  // The curve is made off the window's thread; the newest document wins.
  void show(const DocumentPtr& document, int rank);
  void fold(bool folded) { is_folded_ = folded; }
  bool is_folded() const { return is_folded_; }
  bool is_busy() const { return is_busy_; }
  bool is_empty() const;
  // Nothing where the document has no memory events.
  double header_height() const;
  double least_height() const;

  void next_clock();
  bool has_host_time() const;  // the clock that recordings of the host count on
  std::optional<std::int64_t> peak_ns() const;

  // `box`: header and plot; the lanes begin at `left`.
  void paint(QPainter& painter, const QRectF& box, double left, const TimeAxis& axis,
             const Ruler& ruler) const;
  // Over it and over the lines of time: names of areas, the peak, what is allocated at the cursor.
  void paint_figures(QPainter& painter, const QRectF& box, double left, const TimeAxis& axis,
                     std::optional<std::int64_t> cursor) const;

 Q_SIGNALS:
  void changed();

 private:
  struct Made {
    std::shared_ptr<const MemoryCurve> curve;
    std::optional<std::int64_t> capacity;
  };

  void take();
  void paint_header(QPainter& painter, const QRectF& box, double left) const;
  void paint_scale(QPainter& painter, const QRectF& area) const;
  void paint_peak(QPainter& painter, const QRectF& area, const TimeAxis& axis) const;
  void paint_cursor(QPainter& painter, const QRectF& area, const TimeAxis& axis,
                    std::int64_t cursor) const;

  MemoryPlot plot_;
  QFutureWatcher<Made> watcher_;
  QString title_;
  bool is_folded_ = false;
  bool is_busy_ = false;
};

}  // namespace foreshard::gui
