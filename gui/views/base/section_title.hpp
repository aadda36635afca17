// The title of a section of a panel, under a hairline, with a note on the right, such as the units
// of what follows: `Operators    ms · count`.
#pragma once

#include <QString>

#include "gui/views/base/painted_widget.hpp"

namespace foreshard::gui {

class SectionTitle : public PaintedWidget {
  Q_OBJECT
 public:
  explicit SectionTitle(const QString& title, const QString& note = {}, QWidget* parent = nullptr);

  void set_title(const QString& title, const QString& note = {});

  QSize sizeHint() const override;
  QSize minimumSizeHint() const override { return {0, sizeHint().height()}; }

 protected:
  void paintEvent(QPaintEvent* event) override;

 private:
  QString title_, note_;
};

}  // namespace foreshard::gui
