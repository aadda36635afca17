// The line at the bottom of the window: what is to be known of the shown document on the left, what
// the view has to say on the right.
#pragma once

#include <QStatusBar>
#include <vector>

#include "gui/models/session/sentences.hpp"

namespace foreshard::gui {

class StatusBar : public QStatusBar {
  Q_OBJECT
 public:
  explicit StatusBar(QWidget* parent = nullptr);

  void set_statements(std::vector<Statement> statements);
  void set_view_status(const QString& text);
  const std::vector<Statement>& statements() const { return statements_; }

  QSize sizeHint() const override;
  QSize minimumSizeHint() const override;

 protected:
  void paintEvent(QPaintEvent* event) override;

 private:
  std::vector<Statement> statements_;
  QString view_status_;
};

}  // namespace foreshard::gui
