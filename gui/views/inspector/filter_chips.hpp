// Filters that are active, as chips with an x that drops them: [dur>2ms x] [rank 0 x]. With the
// keyboard: arrows choose one, Delete drops it.
#pragma once

#include <QStringList>

#include "gui/views/base/painted_widget.hpp"

namespace foreshard::gui {

class FilterChips : public PaintedWidget {
  Q_OBJECT
 public:
  explicit FilterChips(QWidget* parent = nullptr);

  void set_filters(QStringList filters);
  const QStringList& filters() const { return filters_; }
  QRectF chip(int n) const;

  QSize sizeHint() const override;

 Q_SIGNALS:
  void dropped(int filter);

 protected:
  void paintEvent(QPaintEvent* event) override;
  void mousePressEvent(QMouseEvent* event) override;
  void keyPressEvent(QKeyEvent* event) override;

 private:
  double chip_width(const QString& filter) const;

  QStringList filters_;
  int current_ = 0;
};

}  // namespace foreshard::gui
