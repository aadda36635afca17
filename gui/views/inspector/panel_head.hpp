// The head of a panel: what it is about, where it belongs, and its figure.
//
//   [] reduce_scatter                 rank 0
//   model.layers.31 · backward         [ ]
//   2.173 ms  ± 0.76      314.75 – 316.92 ms
#pragma once

#include <QStringList>
#include <optional>

#include "gui/models/base/colour_role.hpp"
#include "gui/models/base/units_text.hpp"
#include "gui/views/base/painted_widget.hpp"

namespace foreshard::gui {

struct Headline {
  QString title;
  std::optional<EventColour> swatch{};
  QString whose{};  // right of the title: "rank 0"
  QString detail{};
  QString detail_note{};
  QStringList detail_keys{};  // engraved at the right end of the detail's line
  Figure figure{};
  QString figure_note{};
  QString figure_aside{};  // at the right end of the figure's line
};

class PanelHead : public PaintedWidget {
  Q_OBJECT
 public:
  explicit PanelHead(QWidget* parent = nullptr);

  void set_headline(Headline headline);
  const Headline& headline() const { return headline_; }
  QString as_text() const;
  QRectF whose_box() const;  // empty where nobody is named

  QSize sizeHint() const override;

 Q_SIGNALS:
  void whose_asked(QPoint below);  // on the screen: what is named right of the title was clicked

 protected:
  void paintEvent(QPaintEvent* event) override;
  void mouseMoveEvent(QMouseEvent* event) override;
  void mouseReleaseEvent(QMouseEvent* event) override;

 private:
  void draw_title(QPainter& painter, QRectF line) const;
  void draw_detail(QPainter& painter, QRectF line) const;
  void draw_figure_line(QPainter& painter, QRectF line) const;

  Headline headline_;
};

}  // namespace foreshard::gui
