#include "gui/views/shell/main_window.hpp"

#include <QApplication>
#include <QCloseEvent>
#include <QDockWidget>
#include <QKeyEvent>
#include <QMessageBox>
#include <QScopedValueRollback>
#include <QStackedWidget>
#include <QVBoxLayout>
#include <algorithm>

#include "gui/paint/theme.hpp"
#include "gui/views/compare/compare_view.hpp"
#include "gui/views/inspector/command_palette.hpp"
#include "gui/views/inspector/help_overlay.hpp"
#include "gui/views/inspector/inspector.hpp"
#include "gui/views/inspector/results_panel.hpp"
#include "gui/views/inspector/tables_panel.hpp"
#include "gui/views/memory/memory_view.hpp"
#include "gui/views/shell/document_chips.hpp"
#include "gui/views/shell/empty_page.hpp"
#include "gui/views/shell/ending_signals.hpp"
#include "gui/views/shell/notice_bar.hpp"
#include "gui/views/shell/part_bar.hpp"
#include "gui/views/shell/status_bar.hpp"
#include "gui/views/shell/top_bar.hpp"
#include "gui/views/shell/view_tabs.hpp"
#include "gui/views/shell/window_actions.hpp"
#include "gui/views/timeline/timeline_view.hpp"
#include "gui/views/what_if/what_if_view.hpp"

namespace foreshard::gui {
namespace {

constexpr QSize kSmallestWindow(1000, 640);

}  // namespace

MainWindow::MainWindow(bool remembers, QWidget* parent)
    : QMainWindow(parent),
      remembered_(remembers),
      timeline_(new TimelineView(session_)),
      what_if_(new WhatIfView(session_)),
      views_{timeline_, new MemoryView(session_), what_if_, new CompareView(session_)} {
  setWindowTitle(tr("Foreshard"));
  setAcceptDrops(true);
  setMinimumSize(kSmallestWindow);
  actions_ = std::make_unique<WindowActions>(*this, views_);
  lay_out();
  make_docks();
  help_ = new HelpOverlay(this);
  palette_ = new CommandPalette(this);
  connect_appearance();
  connect_actions();
  connect_session();
  connect_loader();
  restore_layout();
  show_view(0);
}

MainWindow::~MainWindow() {
  loader_.disconnect(this);
  session_.disconnect(this);
  session_.selection().disconnect(this);
  // They use the session and the search, which as members go before a widget's children do.
  for (QWidget* part :
       std::initializer_list<QWidget*>{help_, palette_, inspector_dock_, overlay_, results_dock_,
                                       tables_dock_, pages_, menuWidget()}) {
    delete part;
  }
}

void MainWindow::lay_out() {
  std::vector<QString> titles;
  for (const View* view : views_) titles.push_back(view->title());
  auto* above = new QWidget(this);
  auto* rows = new QVBoxLayout(above);
  rows->setContentsMargins(0, 0, 0, 0);
  rows->setSpacing(0);
  top_bar_ = new TopBar(session_, search_, titles, above);
  loading_ = new NoticeBar(above);
  notice_ = new NoticeBar(above);
  part_ = new PartBar(above);
  for (QWidget* row : std::initializer_list<QWidget*>{top_bar_, loading_, part_, notice_}) {
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
  const bool is_empty = view != what_if_ && session_.documents().empty();
  top_bar_->tabs().set_current(view_);
  pages_->setCurrentWidget(is_empty ? static_cast<QWidget*>(empty_) : view);
  if (is_empty) empty_->set_recent(remembered_.recent_files());
  for (View* each : views_) {
    if (each->strip() != nullptr) each->strip()->setVisible(each == view && !is_empty);
  }
  QWidget* const inspector = is_empty ? nullptr : inspector_of(view);
  const bool has_inspector = inspector != nullptr;
  if (has_inspector) inspectors_->setCurrentWidget(inspector);
  show_inspector(has_inspector && actions_->inspector->isChecked());
  refresh_status();
}

bool MainWindow::is_busy() const {
  return loader_.is_busy() || offers_made_ > 0 || current_view()->is_busy() ||
         inspector_->is_busy() || search_.is_busy() ||
         (results_dock_->isVisible() && results_->is_busy()) || tables_->is_busy();
}

void MainWindow::refresh_status() {
  const DocumentPtr document = session_.current();
  status_->set_statements(document ? status_of(*document) : std::vector<Statement>());
  status_->set_view_status(current_view()->status());
  setWindowTitle(document ? tr("%1 - Foreshard").arg(document->title) : tr("Foreshard"));
}

// A plan file whose changes would be lost is asked about; what was only tried out is not.
bool MainWindow::may_close() {
  if (is_ending_by_signal() || !what_if_->has_unsaved_changes()) return true;
  QMessageBox question(QMessageBox::Question, tr("Foreshard"),
                       tr("%1 was changed and not saved.").arg(what_if_->plan_file()),
                       QMessageBox::Save | QMessageBox::Discard | QMessageBox::Cancel, this);
  const int answer = question.exec();
  return answer == QMessageBox::Discard || (answer == QMessageBox::Save && what_if_->save());
}

void MainWindow::closeEvent(QCloseEvent* event) {
  if (!may_close()) return event->ignore();
  loader_.cancel();
  remember_layout();
  QMainWindow::closeEvent(event);
}

void MainWindow::keyPressEvent(QKeyEvent* event) {
  QWidget* target = current_view();
  const bool has_had_it = target->isAncestorOf(QApplication::focusWidget());
  const bool is_covered = help_->isVisible() || palette_->isVisible();
  if (is_passing_on_ || has_had_it || is_covered || !target->isVisible()) {
    return QMainWindow::keyPressEvent(event);
  }
  while (target->focusProxy() != nullptr) target = target->focusProxy();
  const QScopedValueRollback passing_on(is_passing_on_, true);
  QApplication::sendEvent(target, event);
}

void MainWindow::resizeEvent(QResizeEvent* event) {
  QMainWindow::resizeEvent(event);
  fit_inspector();
}

}  // namespace foreshard::gui
