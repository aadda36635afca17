// Bytes along a step or a history: curves of steps that a badge tells apart, and levels across all of
// it, such as what is reserved and what the device has.
#pragma once

#include <utility>
#include <vector>

#include "gui/models/base/colour_role.hpp"
#include "gui/paint/step_line.hpp"
#include "gui/views/base/painted_widget.hpp"

namespace foreshard::gui {

struct ByteCurve {
  QString badge;                                              // "Now", "A"
  std::vector<std::pair<std::int64_t, std::int64_t>> points;  // bytes from a position on
  std::int64_t length = 1;                                    // the position where it ends
  StepPen pen;
  bool is_filled = false;
  bool fails = false;  // at its last point, as the next request does not fit
};

struct ByteLevel {
  QString text;  // "capacity of H100 SXM5 80GB: 79.19 GiB"
  std::int64_t bytes = 0;
  bool is_limit = false;  // of the device
};

class BytePlot : public PaintedWidget {
  Q_OBJECT
 public:
  // What positions are, and so the words below the axis; of shares each curve is as long as the plot.
  enum class Along : std::uint8_t { share, time, events };

  // `about`: what is plotted, without its unit, which is that of the axis; `least` at the usual size of
  // text.
  BytePlot(const QString& title, const QString& about, Along along, QSize least,
           QWidget* parent = nullptr);

  // The first curve lies above the others.
  void show_curves(std::vector<ByteCurve> curves, std::vector<ByteLevel> levels);
  void set_stale(bool is_stale);
  void set_along(Along along);
  // Up to the device's limit, or no higher than what is used, where small changes are seen.
  void set_fits_data(bool fits_data);

 protected:
  void paintEvent(QPaintEvent* event) override;

 private:
  QRectF area() const;
  std::int64_t top() const;
  double x_of(const ByteCurve& curve, std::int64_t position) const;
  double y_of(std::int64_t bytes) const;
  double end_of(const ByteCurve& curve) const;
  StepColumns columns_of(const ByteCurve& curve) const;
  QString text_at(double share) const;
  void paint_axes(QPainter& painter) const;
  void paint_curve(QPainter& painter, const ByteCurve& curve) const;
  void paint_badge(QPainter& painter, std::size_t curve) const;
  void paint_level(QPainter& painter, const ByteLevel& level) const;

  QString title_, about_;
  Along along_;
  std::vector<ByteCurve> curves_;
  std::vector<ByteLevel> levels_;
  std::int64_t highest_ = 1, limit_ = 0, longest_ = 1;
  bool is_stale_ = false, fits_data_ = false;
};

}  // namespace foreshard::gui
