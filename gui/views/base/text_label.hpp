// A line of text of one of the design's sizes, in a colour role: elided where it does not fit, with
// the whole as its tooltip. Figures in it have fixed digits, so that they stay in place as they
// change.
#pragma once

#include <QString>

#include "gui/models/base/colour_role.hpp"
#include "gui/paint/fonts.hpp"
#include "gui/views/base/painted_widget.hpp"

namespace foreshard::gui {

class TextLabel : public PaintedWidget {
  Q_OBJECT
 public:
  TextLabel(Text size, Role role, QWidget* parent = nullptr);

  void set_text(const QString& text);
  const QString& text() const { return text_; }
  void set_role(Role role);
  void set_alignment(Qt::Alignment alignment);  // left (as it begins) or right

  QSize sizeHint() const override;
  QSize minimumSizeHint() const override;

 protected:
  void paintEvent(QPaintEvent* event) override;

 private:
  Text size_;
  Role role_;
  Qt::Alignment alignment_ = Qt::AlignLeft;
  QString text_;
};

}  // namespace foreshard::gui
