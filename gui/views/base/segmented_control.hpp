// A pill of choices of which one holds, such as `Device time | Host time | Event order`. Left and
// right arrows move it; choices that cannot be had now are greyed and skipped.
#pragma once

#include <QStringList>
#include <vector>

#include "gui/views/base/painted_widget.hpp"

namespace foreshard::gui {

class SegmentedControl : public PaintedWidget {
  Q_OBJECT
 public:
  explicit SegmentedControl(QStringList choices = {}, QWidget* parent = nullptr);

  void set_choices(QStringList choices);  // the first one holds
  const QStringList& choices() const { return choices_; }
  int current() const { return current_; }
  void set_current(int choice);  // tells nobody: for whoever already knows
  void set_choice_enabled(int choice, bool is_enabled, const QString& why_not = {});

  QSize sizeHint() const override;
  QSize minimumSizeHint() const override;

 Q_SIGNALS:
  void chosen(int choice);  // by mouse or key

 protected:
  void paintEvent(QPaintEvent* event) override;
  void mousePressEvent(QMouseEvent* event) override;
  void mouseMoveEvent(QMouseEvent* event) override;
  void leaveEvent(QEvent* event) override;
  void keyPressEvent(QKeyEvent* event) override;
  bool event(QEvent* event) override;

 private:
  QRectF segment(int choice) const;
  int choice_at(QPointF point) const;
  bool can_have(int choice) const { return why_not_[static_cast<std::size_t>(choice)].isNull(); }
  void choose(int choice);

  QStringList choices_;
  std::vector<QString> why_not_;  // of each choice: null where it can be had
  int current_ = 0;
  int hovered_ = -1;
};

}  // namespace foreshard::gui
