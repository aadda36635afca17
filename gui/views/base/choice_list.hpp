// A list that opens, with the design's triangle. The wheel scrolls the panel that it stands in, not
// its choices, unless the keyboard is on it.
#pragma once

#include <QComboBox>

namespace foreshard::gui {

class ChoiceList : public QComboBox {
  Q_OBJECT
 public:
  explicit ChoiceList(QWidget* parent = nullptr);

 protected:
  void paintEvent(QPaintEvent* event) override;
  void wheelEvent(QWheelEvent* event) override;
};

}  // namespace foreshard::gui
