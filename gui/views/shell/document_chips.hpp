// The open documents in the top bar: a box for each, with a gutter that is solid for what was measured
// and hatched for what is predicted, its source in words, its title and a cross that closes it. Where there are too many
// for its width the bar scrolls.
#pragma once

#include <QTabBar>

#include "gui/models/session/session.hpp"

namespace foreshard::gui {

class DocumentChips : public QTabBar {
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
  QSize tabSizeHint(int index) const override;
  void paintEvent(QPaintEvent* event) override;
  void mousePressEvent(QMouseEvent* event) override;
  void mouseMoveEvent(QMouseEvent* event) override;
  void leaveEvent(QEvent* event) override;
  void keyPressEvent(QKeyEvent* event) override;

 private:
  void take_documents();
  double wish(const Document& document) const;
  void draw_chip(QPainter& painter, const QRectF& box, int index) const;

  Session& session_;
  int hot_cross_ = -1;  // under the pointer
};

QString source_word(Source source);

}  // namespace foreshard::gui
