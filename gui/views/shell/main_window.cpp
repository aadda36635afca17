#include "gui/views/shell/main_window.hpp"

#include <QCloseEvent>
#include <QDockWidget>
#include <QStackedWidget>
#include <QVBoxLayout>
#include <algorithm>

#include "gui/paint/theme.hpp"
#include "gui/views/compare/compare_view.hpp"
#include "gui/views/inspector/command_palette.hpp"
#include "gui/views/inspector/help_overlay.hpp"
#include "gui/views/memory/memory_view.hpp"
#include "gui/views/shell/document_chips.hpp"
#include "gui/views/shell/empty_page.hpp"
#include "gui/views/shell/notice_bar.hpp"
#include "gui/views/shell/status_bar.hpp"
#include "gui/views/shell/top_bar.hpp"
#include "gui/views/shell/view_tabs.hpp"
#include "gui/views/shell/window_actions.hpp"
#include "gui/views/timeline/timeline_view.hpp"
#include "gui/views/what_if/what_if_view.hpp"

namespace foreshard::gui {
namespace {

constexpr QSize kSmallestWindow(1000, 640);
constexpr int kInspectorWidth = 320;

}  // namespace

MainWindow::MainWindow(bool remembers, QWidget* parent)
    : QMainWindow(parent), remembered_(remembers) {
  setWindowTitle(tr("Foreshard"));
  setAcceptDrops(true);
  setMinimumSize(kSmallestWindow);
  views_ = {new TimelineView(session_), new MemoryView(session_), new WhatIfView(session_),
            new CompareView(session_)};
  actions_ = std::make_unique<WindowActions>(*this, views_);
  lay_out();
  make_docks();
  help_ = new HelpOverlay(this);
  palette_ = new CommandPalette(this);
  connect_appearance();
  connect_actions();
  connect_session();
  connect_loader();
  if (!remembered_.geometry().isEmpty()) restoreGeometry(remembered_.geometry());
  if (!remembered_.layout().isEmpty()) restoreState(remembered_.layout());
  show_view(0);
}

MainWindow::~MainWindow() {
  loader_.disconnect(this);
  session_.disconnect(this);
  for (View* view : views_)
    delete view;  // they use the session, which goes before the window's children
}

void MainWindow::lay_out() {
  std::vector<QString> titles;
  for (const View* view : views_) titles.push_back(view->title());
  auto* above = new QWidget(this);
  auto* rows = new QVBoxLayout(above);
  rows->setContentsMargins(0, 0, 0, 0);
  rows->setSpacing(0);
  top_bar_ = new TopBar(session_, titles, above);
  loading_ = new NoticeBar(above);
  notice_ = new NoticeBar(above);
  for (QWidget* row : std::initializer_list<QWidget*>{top_bar_, loading_, notice_}) {
    rows->addWidget(row);
  }
  for (View* view : views_) {
    if (view->strip() != nullptr) rows->addWidget(view->strip());
  }
  setMenuWidget(above);

  pages_ = new QStackedWidget(this);
  for (View* view : views_) pages_->addWidget(view);
  empty_ = new EmptyPage(pages_);
  pages_->addWidget(empty_);
  setCentralWidget(pages_);
  status_ = new StatusBar(this);
  setStatusBar(status_);
}

void MainWindow::make_docks() {
  inspectors_ = new QStackedWidget;
  for (View* view : views_) {
    if (view->inspector() != nullptr) inspectors_->addWidget(view->inspector());
  }
  inspector_dock_ = new QDockWidget(tr("Inspector"), this);
  inspector_dock_->setObjectName(QStringLiteral("inspector"));
  inspector_dock_->setAllowedAreas(Qt::RightDockWidgetArea | Qt::LeftDockWidgetArea);
  inspector_dock_->setWidget(inspectors_);
  addDockWidget(Qt::RightDockWidgetArea, inspector_dock_);
  place_inspector(false);
  connect(inspector_dock_, &QDockWidget::topLevelChanged, this, &MainWindow::place_inspector);
}

// Docked it has no title, and the width of the design; in a window of its own it has both as it likes.
void MainWindow::place_inspector(bool is_floating) {
  QWidget* const title = inspector_dock_->titleBarWidget();
  if (is_floating == (title == nullptr)) return;
  inspector_dock_->setTitleBarWidget(is_floating ? nullptr : new QWidget);
  if (title != nullptr) title->deleteLater();
  inspectors_->setMinimumSize(kInspectorWidth, 0);
  inspectors_->setMaximumWidth(is_floating ? QWIDGETSIZE_MAX : kInspectorWidth);
}

void MainWindow::show_view(int index) {
  view_ = index;
  refresh_view();
  current_view()->setFocus();
}

void MainWindow::choose_view(int index) {
  is_view_chosen_ = true;
  show_view(index);
}

void MainWindow::refresh_view() {
  View* const view = current_view();
  const bool needs_document = dynamic_cast<WhatIfView*>(view) == nullptr;
  const bool is_empty = needs_document && session_.documents().empty();
  top_bar_->tabs().set_current(view_);
  pages_->setCurrentWidget(is_empty ? static_cast<QWidget*>(empty_) : view);
  if (is_empty) empty_->set_recent(remembered_.recent_files());
  for (View* each : views_) {
    if (each->strip() != nullptr) each->strip()->setVisible(each == view && !is_empty);
  }
  const bool has_inspector = view->inspector() != nullptr && !is_empty;
  if (has_inspector) inspectors_->setCurrentWidget(view->inspector());
  inspector_dock_->setVisible(has_inspector && actions_->inspector->isChecked());
  refresh_status();
}

bool MainWindow::is_busy() const {
  return loader_.is_busy() || current_view()->is_busy();
}

void MainWindow::refresh_status() {
  const DocumentPtr document = session_.current();
  status_->set_statements(document ? status_of(*document) : std::vector<Statement>());
  status_->set_view_status(current_view()->status());
  setWindowTitle(document ? tr("%1 - Foreshard").arg(document->title) : tr("Foreshard"));
}

void MainWindow::closeEvent(QCloseEvent* event) {
  loader_.cancel();
  remembered_.set_window(saveGeometry(), saveState());
  QMainWindow::closeEvent(event);
}

void MainWindow::changeEvent(QEvent* event) {
  if (event->type() == QEvent::ActivationChange && isActiveWindow() &&
      remembered_.theme() == ThemeChoice::system && remembered_.is_wanted()) {
    choose_theme(ThemeChoice::system);
  }
  QMainWindow::changeEvent(event);
}

}  // namespace foreshard::gui
