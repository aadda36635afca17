#include "gui/views/shell/main_window.hpp"

#include <QStackedWidget>

#include "gui/views/compare/compare_view.hpp"
#include "gui/views/memory/memory_view.hpp"
#include "gui/views/timeline/timeline_view.hpp"
#include "gui/views/what_if/what_if_view.hpp"

namespace foreshard::gui {

MainWindow::MainWindow(QWidget* parent) : QMainWindow(parent), stack_(new QStackedWidget(this)) {
  setWindowTitle(tr("Foreshard"));
  setCentralWidget(stack_);
  views_ = {new TimelineView(session_), new MemoryView(session_), new WhatIfView(session_),
            new CompareView(session_)};
  for (View* view : views_) stack_->addWidget(view);
}

void MainWindow::show_view(const QString& title) {
  for (View* view : views_) {
    if (view->title() == title) stack_->setCurrentWidget(view);
  }
}

}  // namespace foreshard::gui
