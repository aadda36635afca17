// What a view shows while nothing is open: what can be done, and the files that were open before.
#pragma once

#include <QStringList>

#include "gui/views/base/painted_widget.hpp"

class QVBoxLayout;

namespace foreshard::gui {

class EmptyPage : public PaintedWidget {
  Q_OBJECT
 public:
  explicit EmptyPage(QWidget* parent = nullptr);

  void set_recent(const QStringList& files);

 Q_SIGNALS:
  void open_asked();
  void plan_asked();
  void recent_asked(const QString& file);

 protected:
  void paintEvent(QPaintEvent* event) override;

 private:
  QVBoxLayout* recent_;
  QWidget* recent_box_;
};

}  // namespace foreshard::gui
