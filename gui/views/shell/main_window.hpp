// The window: a bar with the views and the open documents, the view's answer, the view with its
// inspector, and a status bar.
#pragma once

#include <QMainWindow>
#include <vector>

#include "gui/models/session/session.hpp"
#include "gui/views/base/view.hpp"

class QStackedWidget;

namespace foreshard::gui {

class MainWindow : public QMainWindow {
  Q_OBJECT
 public:
  explicit MainWindow(QWidget* parent = nullptr);

  Session& session() { return session_; }
  const std::vector<View*>& views() const { return views_; }
  void show_view(const QString& title);

 private:
  Session session_;
  QStackedWidget* stack_;
  std::vector<View*> views_;
};

}  // namespace foreshard::gui
