// A button that shows the key which does the same: `Zoom to it  F`.
#pragma once

#include <QPushButton>

namespace foreshard::gui {

class KeyButton : public QPushButton {
  Q_OBJECT
 public:
  explicit KeyButton(const QString& text, const QString& key = {}, QWidget* parent = nullptr);

  QSize sizeHint() const override;

 protected:
  void paintEvent(QPaintEvent* event) override;

 private:
  QString key_;
};

}  // namespace foreshard::gui
