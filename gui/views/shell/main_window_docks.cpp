// The window's inspector and search results: docked, in a window of their own, or over the view.
#include <QDockWidget>
#include <QScreen>
#include <QStackedWidget>

#include "gui/views/inspector/inspector.hpp"
#include "gui/views/inspector/results_panel.hpp"
#include "gui/views/inspector/tables_panel.hpp"
#include "gui/views/shell/inspector_overlay.hpp"
#include "gui/views/shell/main_window.hpp"
#include "gui/views/shell/window_actions.hpp"
#include "gui/views/timeline/timeline_view.hpp"

namespace foreshard::gui {
namespace {

constexpr int kOverlayBelow = 1200;  // the window's width
// Of the first window that somebody sees.
constexpr QSize kFirstSize(1600, 1000);
constexpr double kShareOfScreen = 0.9;

}  // namespace

QWidget* MainWindow::inspector_of(View* view) const {
  return view == timeline_ ? inspector_ : view->inspector();
}

void MainWindow::make_docks() {
  inspectors_ = new QStackedWidget;
  inspector_ = new Inspector(session_);
  for (View* view : views_) {
    if (QWidget* const inspector = inspector_of(view)) inspectors_->addWidget(inspector);
  }
  inspector_dock_ = new QDockWidget(tr("Inspector"), this);
  inspector_dock_->setObjectName(QStringLiteral("inspector"));
  inspector_dock_->setAllowedAreas(Qt::RightDockWidgetArea | Qt::LeftDockWidgetArea);
  inspector_dock_->setWidget(inspectors_);
  addDockWidget(Qt::RightDockWidgetArea, inspector_dock_);
  place_inspector(false);
  connect(inspector_dock_, &QDockWidget::topLevelChanged, this, &MainWindow::place_inspector);

  overlay_ = new InspectorOverlay(pages_);
  connect(overlay_, &InspectorOverlay::left, actions_->inspector, &QAction::trigger);

  const auto at_the_bottom = [this](QWidget* panel, const QString& title, const char* name) {
    auto* dock = new QDockWidget(title, this);
    dock->setObjectName(QLatin1String(name));
    dock->setTitleBarWidget(new QWidget);
    dock->setWidget(panel);
    addDockWidget(Qt::BottomDockWidgetArea, dock);
    dock->hide();
    return dock;
  };
  results_ = new ResultsPanel(session_, search_);
  results_dock_ = at_the_bottom(results_, tr("Search results"), "results");
  tables_ = new TablesPanel(session_);
  tables_dock_ = at_the_bottom(tables_, tr("Tables"), "tables");
  setCorner(Qt::BottomRightCorner, Qt::RightDockWidgetArea);
}

void MainWindow::size_inspector() {
  const int wide = scaled(kInspectorWidth);
  inspectors_->setMinimumSize(wide, 0);
  inspectors_->setMaximumWidth(inspector_dock_->isFloating() ? QWIDGETSIZE_MAX : wide);
}

// Beside the view where the window is wide enough, else over it, and then only as long as it is wanted.
void MainWindow::fit_inspector() {
  size_inspector();
  const bool is_narrow = width() < scaled(kOverlayBelow) && !inspector_dock_->isFloating();
  if (is_narrow == is_narrow_) return;
  is_narrow_ = is_narrow;
  if (is_narrow) {
    overlay_->hold(inspectors_);
    is_inspector_wanted_ = actions_->inspector->isChecked();
  } else {
    inspector_dock_->setWidget(inspectors_);
  }
  actions_->inspector->setChecked(!is_narrow && is_inspector_wanted_);
  refresh_view();
}

void MainWindow::show_inspector(bool shows) {
  inspector_dock_->setVisible(shows && !is_narrow_);
  overlay_->setVisible(shows && is_narrow_);
}

void MainWindow::remember_layout() {
  const bool is_wanted = is_narrow_ ? is_inspector_wanted_ : actions_->inspector->isChecked();
  remembered_.set_shows_inspector(is_wanted);
  remembered_.set_window(saveGeometry(), saveState());
}

void MainWindow::restore_layout() {
  if (!restoreGeometry(remembered_.geometry())) {
    resize(kFirstSize.boundedTo(screen()->availableSize() * kShareOfScreen));
  }
  if (!remembered_.layout().isEmpty()) restoreState(remembered_.layout());
  is_inspector_wanted_ = remembered_.shows_inspector();
  if (!is_narrow_) actions_->inspector->setChecked(is_inspector_wanted_);
  actions_->float_inspector->setChecked(inspector_dock_->isFloating());
  actions_->results->setChecked(!results_dock_->isHidden());
  actions_->tables->setChecked(!tables_dock_->isHidden());
}

// Docked it has no title, and the width of the design; in a window of its own it has both as it likes.
void MainWindow::place_inspector(bool is_floating) {
  QWidget* const title = inspector_dock_->titleBarWidget();
  if (is_floating == (title == nullptr)) return;
  inspector_dock_->setTitleBarWidget(is_floating ? nullptr : new QWidget);
  if (title != nullptr) title->deleteLater();
  size_inspector();
}

}  // namespace foreshard::gui
