// The open documents in the top bar: a box for each, with a gutter that is solid for what was measured
// and hatched for what is predicted, its source in words, its title and a cross that closes it.
#pragma once

#include <vector>

#include "gui/models/session/session.hpp"
#include "gui/views/base/painted_widget.hpp"

namespace foreshard::gui {

class DocumentChips : public PaintedWidget {
  Q_OBJECT
 public:
  explicit DocumentChips(Session& session, QWidget* parent = nullptr);

  QSize sizeHint() const override;
  QSize minimumSizeHint() const override;
  QRectF chip(int index) const;
  QRectF cross(int index) const;

 Q_SIGNALS:
  void close_asked(int index);

 protected:
  void paintEvent(QPaintEvent* event) override;
  void mousePressEvent(QMouseEvent* event) override;
  void mouseMoveEvent(QMouseEvent* event) override;
  void leaveEvent(QEvent* event) override;
  void keyPressEvent(QKeyEvent* event) override;
  bool event(QEvent* event) override;

 private:
  double wish(const Document& document) const;
  std::vector<QRectF> boxes() const;
  int chip_at(QPointF point) const;
  void draw_chip(QPainter& painter, const QRectF& box, int index) const;

  Session& session_;
  int hovered_ = -1;
  bool is_on_cross_ = false;
};

QString source_word(Source source);

}  // namespace foreshard::gui
