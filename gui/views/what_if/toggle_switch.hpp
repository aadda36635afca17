// A switch: on or off, by click or Space.
#pragma once

#include <QAbstractButton>

namespace foreshard::gui {

class ToggleSwitch : public QAbstractButton {
  Q_OBJECT
 public:
  explicit ToggleSwitch(QWidget* parent = nullptr);

  QSize sizeHint() const override { return {32, 22}; }

 protected:
  void paintEvent(QPaintEvent* event) override;
};

// A word that can be chosen beside others: a tick and an outline where it is.
class CheckChip : public QAbstractButton {
  Q_OBJECT
 public:
  explicit CheckChip(const QString& text, QWidget* parent = nullptr);

  QSize sizeHint() const override;

 protected:
  void paintEvent(QPaintEvent* event) override;
};

}  // namespace foreshard::gui
