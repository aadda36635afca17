// The upper half of the memory view: ruler, phases, areas by category, what is reserved, the
// device's capacity with the room below it, the peak and the cursor.
#pragma once

#include <QPixmap>
#include <cstdint>
#include <memory>
#include <optional>

#include "gui/models/base/selection.hpp"
#include "gui/models/memory/rank_memory.hpp"
#include "gui/paint/time_ticks.hpp"
#include "gui/views/base/accessible_canvas.hpp"
#include "gui/views/base/memory_plot.hpp"
#include "gui/views/base/painted_widget.hpp"

namespace foreshard::gui {

class MemoryCanvas : public PaintedWidget, public AccessibleCanvas {
  Q_OBJECT
 public:
  static constexpr int kGutter = 88;  // left of the axis, for figures and names of pools

  MemoryCanvas(Selection& selection, QWidget* parent = nullptr);

  // `axis` counts on the clock's own scale; it stays with the caller.
  void show_memory(std::shared_ptr<const RankMemory> memory, MemoryClock clock, TimeAxis* axis,
                   bool is_predicted);
  void set_capacity(std::optional<std::int64_t> bytes);  // of the device
  void set_sample(std::optional<std::size_t> sample);    // where the cursor stands
  void set_since(std::optional<std::size_t> sample);     // what that is compared with
  void set_life(std::optional<BlockLife> life);          // of the selected block
  void set_home(traces::Interval step, traces::Interval everything) {
    step_ = step;
    everything_ = everything;
  }

  const MemoryPlot& plot() const { return plot_; }
  QRectF plot_area() const;
  double x_of(std::size_t sample) const;
  // The sample that a column of pixels shows.
  std::optional<std::size_t> sample_at(double x) const;
  QString time_text(std::size_t sample) const;  // "284.73 ms", or "event 1,204"

  // What is reserved and the areas at the cursor, from top to bottom; selected is the moment.
  int accessible_rows() const override;
  AccessibleItem accessible_row(int row) const override;
  std::optional<AccessibleItem> accessible_selection() const override;

  QSize minimumSizeHint() const override { return {480, 200}; }

 Q_SIGNALS:
  void sample_chosen(std::size_t sample);

 protected:
  void paintEvent(QPaintEvent* event) override;
  void resizeEvent(QResizeEvent* event) override;
  void showEvent(QShowEvent* event) override;
  void mousePressEvent(QMouseEvent* event) override;
  void mouseMoveEvent(QMouseEvent* event) override;
  void mouseReleaseEvent(QMouseEvent* event) override;
  void mouseDoubleClickEvent(QMouseEvent* event) override;
  void wheelEvent(QWheelEvent* event) override;
  void changeEvent(QEvent* event) override;
  bool event(QEvent* event) override;

 private:
  enum class Drag : std::uint8_t { none, pan, range };

  std::int64_t origin() const;  // of the ruler: the step's begin
  QString moment_text(std::size_t sample) const;
  void fit_width();
  void repaint_all();
  QPixmap draw(double ratio) const;
  std::vector<Tick> ticks() const;
  void draw_grid(QPainter& painter) const;
  void draw_ruler(QPainter& painter, const QRectF& pill) const;
  void draw_phases(QPainter& painter) const;
  void draw_scale(QPainter& painter) const;
  QRectF reserved_label() const;  // empty: there is no room
  void draw_reserved_label(QPainter& painter) const;
  void draw_capacity(QPainter& painter) const;
  void draw_range(QPainter& painter) const;
  void draw_peak(QPainter& painter) const;
  void draw_failure(QPainter& painter) const;
  void draw_life(QPainter& painter) const;
  void draw_since(QPainter& painter) const;
  QRectF draw_cursor(QPainter& painter) const;  // where its time stands

  Selection& selection_;
  std::shared_ptr<const RankMemory> memory_;
  MemoryPlot plot_;
  TimeAxis* axis_ = nullptr;
  traces::Interval step_, everything_;
  std::optional<std::size_t> sample_, since_;
  std::optional<BlockLife> life_;
  QPixmap picture_;  // all but cursor, range and peak
  bool is_fitting_ = false;
  Drag drag_ = Drag::none;
  QPointF pressed_, last_;
  QMetaObject::Connection follows_axis_;
};

}  // namespace foreshard::gui
