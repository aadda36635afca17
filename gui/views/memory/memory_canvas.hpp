// The upper half of the memory view: phases, areas by category, what is reserved, the device's
// capacity with the room below it, and the peak, along the session's time or by the order of events.
//
// The sample is the moment that the view tells of: a click chooses it, and the cursor of other views.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "gui/models/memory/rank_memory.hpp"
#include "gui/paint/fonts.hpp"
#include "gui/views/base/memory_plot.hpp"
#include "gui/views/base/time_canvas.hpp"

namespace foreshard::gui {

class MemoryCanvas : public TimeCanvas {
  Q_OBJECT
 public:
  // Left of the axis, for figures and names of pools.
  static int gutter() { return scaled(88); }

  explicit MemoryCanvas(Session& session, QWidget* parent = nullptr);

  // `axis` counts on the clock's own scale; it stays with the caller.
  void show_memory(std::shared_ptr<const RankMemory> memory, MemoryClock clock, TimeAxis& axis,
                   bool is_predicted);
  void set_capacity(std::optional<std::int64_t> bytes);  // of the device
  void set_sample(std::optional<std::size_t> sample);
  void set_since(std::optional<std::size_t> sample);  // what that is compared with
  void set_life(std::optional<BlockLife> life);       // of the selected block

  const MemoryPlot& plot() const { return plot_; }
  double header() const override { return gutter(); }
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

 private:
  bool is_empty() const override { return memory_ == nullptr || memory_->is_empty(); }
  bool has_time() const override { return plot_.clock != MemoryClock::event_order; }
  void paint_below(QPainter& painter, const QRect& dirty, const Ruler& ruler) override;
  void paint_above(QPainter& painter, const Ruler& ruler) override;
  void label_ruler(Ruler& ruler) const override;
  using TimeCanvas::place_of;
  std::optional<std::int64_t> place_of(std::int64_t session_ns) const override;
  std::int64_t moment_at(std::int64_t place) const override;
  std::optional<std::int64_t> cursor_place() const override;
  std::optional<traces::Interval> selected_span(bool once_shown) const override;
  traces::Interval home() const override;
  traces::Interval whole() const override;
  std::optional<Hovered> hover(QPointF at) const override;
  void click(QPointF at) override;

  HoverCard card_of(std::size_t sample) const;
  void draw_phases(QPainter& painter);
  void draw_scale(QPainter& painter) const;
  QRectF reserved_label() const;  // empty: there is no room
  void draw_reserved_label(QPainter& painter) const;
  void draw_capacity(QPainter& painter) const;
  void draw_peak(QPainter& painter) const;
  void draw_failure(QPainter& painter) const;
  void draw_life(QPainter& painter) const;
  void draw_since(QPainter& painter) const;

  std::shared_ptr<const RankMemory> memory_;
  MemoryPlot plot_;
  std::optional<std::size_t> sample_, since_;
  std::optional<BlockLife> life_;
  std::vector<std::pair<QRectF, QString>> phase_names_;  // of the picture
};

}  // namespace foreshard::gui
