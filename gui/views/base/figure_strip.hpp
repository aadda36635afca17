// The answer above a view in figures: columns of a label, a figure with its unit, and a note, such
// as `Step time / 849.3 ms  90 %: 552-1.15 s`. Columns do not move while figures change. Where there
// is no room for all, the last notes are in the tooltips.
#pragma once

#include <QString>
#include <vector>

#include "gui/models/base/colour_role.hpp"
#include "gui/models/base/units_text.hpp"
#include "gui/views/base/painted_widget.hpp"

namespace foreshard::gui {

struct StripFigure {
  QString label;
  Figure figure;
  QString note{};
  Role note_role = Role::text2;
  QString tooltip{};  // where the figure comes from
  int link = -1;      // number, of the view, of what a click leads to; none
};

class FigureStrip : public PaintedWidget {
  Q_OBJECT
 public:
  explicit FigureStrip(QWidget* parent = nullptr);

  void set_figures(std::vector<StripFigure> figures);
  const std::vector<StripFigure>& figures() const { return figures_; }
  // Older than what is set in the controls: shown in text 3 until the new figures come.
  void set_stale(bool is_stale);
  void set_margin(int left) { margin_ = left; }
  std::size_t shown_notes() const;  // those of the first figures
  QRectF figure_box(std::size_t figure) const;

  QSize sizeHint() const override;
  QSize minimumSizeHint() const override;

 Q_SIGNALS:
  void followed(int link);

 protected:
  void paintEvent(QPaintEvent* event) override;
  void mouseMoveEvent(QMouseEvent* event) override;
  void mouseReleaseEvent(QMouseEvent* event) override;
  bool event(QEvent* event) override;

 private:
  struct Widths {
    double whole = 0, without_note = 0;
  };
  const StripFigure* figure_at(double x) const;
  double column_width(const StripFigure& figure, const QString& note) const;
  void widen();
  std::vector<double> lefts() const;  // one more than there are figures

  std::vector<StripFigure> figures_;
  std::vector<Widths> widths_;  // never less while the labels stay
  bool is_stale_ = false;
  int margin_ = 16;
};

}  // namespace foreshard::gui
