#include "gui/views/shell/main_window.hpp"

#include <QApplication>
#include <QClipboard>
#include <QCloseEvent>
#include <QDockWidget>
#include <QFile>
#include <QFileDialog>
#include <QKeyEvent>
#include <QMenu>
#include <QMessageBox>
#include <QPushButton>
#include <QScopedValueRollback>
#include <QScreen>
#include <QShortcut>
#include <QStackedWidget>
#include <QToolButton>
#include <QVBoxLayout>
#include <algorithm>
#include <utility>

#include "gui/paint/style.hpp"
#include "gui/paint/theme.hpp"
#include "gui/views/base/choices.hpp"
#include "gui/views/base/data_table.hpp"
#include "gui/views/compare/compare_view.hpp"
#include "gui/views/inspector/inspector.hpp"
#include "gui/views/inspector/key_overlay.hpp"
#include "gui/views/inspector/results_panel.hpp"
#include "gui/views/inspector/search.hpp"
#include "gui/views/inspector/tables_panel.hpp"
#include "gui/views/memory/memory_view.hpp"
#include "gui/views/shell/empty_page.hpp"
#include "gui/views/shell/ending_signals.hpp"
#include "gui/views/shell/inspector_overlay.hpp"
#include "gui/views/shell/notice_bar.hpp"
#include "gui/views/shell/status_bar.hpp"
#include "gui/views/shell/top_bar.hpp"
#include "gui/views/shell/unattended.hpp"
#include "gui/views/shell/window_actions.hpp"
#include "gui/views/timeline/timeline_view.hpp"
#include "gui/views/what_if/what_if_view.hpp"

// A library's resources are not linked unless somebody asks for them; the macro works outside
// namespaces alone.
static void load_example_resources() {
  Q_INIT_RESOURCE(example);
}

namespace foreshard::gui {
namespace {

constexpr QSize kSmallestWindow(1000, 640);
constexpr double kTextStep = 0.1;
constexpr int kOverlayBelow = 1200;  // the window's width
// Of the first window that somebody sees.
constexpr QSize kFirstSize(1600, 1000);
constexpr double kShareOfScreen = 0.9;

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
  help_ = new KeyOverlay(this, {680, 720}, tr("Keys"), tr("Filter the keys"));
  palette_ = new KeyOverlay(this, {560, 480}, tr("Commands"), tr("Type a command"));
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
  QStringList titles;
  for (const View* view : views_) titles << view->title();
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

// What each action does, and what follows when the session changes.
void MainWindow::connect_actions() {
  WindowActions& a = *actions_;
  const auto on = [this](QAction* action, auto what) {
    connect(action, &QAction::triggered, this, what);
  };
  for (std::size_t n = 0; n < a.views.size(); ++n) {
    on(a.views[n], [this, n] { choose_view(static_cast<int>(n)); });
  }
  connect(&top_bar_->tabs(), &SegmentedControl::chosen, this, &MainWindow::choose_view);
  on(a.open, &MainWindow::ask_for_files);
  on(a.open_folder, &MainWindow::ask_for_folder);
  on(a.open_part, &MainWindow::ask_for_part);
  on(a.reload, &MainWindow::reload);
  on(a.follow, [this](bool is_on) {
    if (is_on && session_.current() != nullptr) follow_end();
  });
  on(a.close, [this] {
    if (session_.current_index() >= 0) session_.close(session_.current_index());
  });
  connect(&top_bar_->chips(), &DocumentChips::close_asked, this,
          [this](int index) { session_.close(index); });
  on(a.new_window, &MainWindow::open_window);
  on(a.search, [this] {
    top_bar_->search().setFocus(Qt::ShortcutFocusReason);
    top_bar_->search().selectAll();
  });
  connect(&top_bar_->search(), &SearchField::left, this, [this] { current_view()->setFocus(); });
  on(a.next_hit, [this] { search_.next(); });
  on(a.previous_hit, [this] { search_.previous(); });
  on(a.results, [this](bool shows) { results_dock_->setVisible(shows); });
  connect(&search_, &Search::text_changed, this, [this] {
    if (!search_.is_active() || actions_->results->isChecked()) return;
    actions_->results->setChecked(true);
    results_dock_->show();
  });
  connect(&search_, &Search::result_changed, this, [this] {
    const auto result = search_.result();
    timeline_->show_hits(
        result->document,
        result->document == nullptr ? nullptr : std::shared_ptr<const Hits>(result, &result->hits));
  });
  connect(timeline_, &TimelineView::search_left, this, [this] { search_.set_text({}); });
  connect(a.critical_path, &QAction::toggled, this, [this](bool shows) {
    timeline_->show_critical_path(shows);
    remembered_.set(kCriticalPath, shows);
  });
  a.critical_path->setChecked(remembered_.get(kCriticalPath));
  connect(a.align_steps, &QAction::toggled, this,
          [this](bool aligns) { session_.align_by(aligns ? AlignBy::step : AlignBy::clock); });
  connect(results_, &ResultsPanel::zoom_asked, this, &MainWindow::fit_selection);
  on(a.next_rank, [this] { session_.show_next_rank(1); });
  on(a.previous_rank, [this] { session_.show_next_rank(-1); });
  on(a.tables, [this](bool shows) { tables_dock_->setVisible(shows); });
  const auto show_table = [this](std::size_t table) {
    if (tables_dock_->isHidden()) actions_->tables->trigger();
    tables_->show_table(table);
    tables_->table().setFocus();
  };
  on(a.exposed, [show_table] { show_table(kExposedTable); });
  connect(timeline_, &TimelineView::list_asked, this, [show_table](TimelineView::Link of) {
    show_table(of == TimelineView::kSteps ? kStepsTable : kExposedTable);
  });
  on(a.help, &MainWindow::show_help);
  connect(&top_bar_->help(), &QPushButton::clicked, this, &MainWindow::show_help);
  on(a.commands, [this] {
    qDeleteAll(std::exchange(view_commands_, {}));
    view_commands_ = commands_of_view(this);
    for (QAction* command : view_commands_) {
      command->setText(tr("%1: %2").arg(current_view()->title(), command->text()));
    }
    palette_->show_commands(view_commands_ + actions_->all());
  });
  auto* menu = new QMenu(this);
  top_bar_->menu().setMenu(menu);
  for (const WindowActions::Group& group : a.groups()) {
    menu->addMenu(group.title)->addActions(group.actions);
  }
  auto* of_view = menu->addMenu(QString());
  connect(menu, &QMenu::aboutToShow, this, [this, of_view] {
    of_view->clear();
    of_view->setTitle(current_view()->title());
    of_view->addActions(commands_of_view(of_view));
  });
  on(a.inspector, &MainWindow::refresh_view);
  on(a.float_inspector, [this](bool floats) { inspector_dock_->setFloating(floats); });
  on(a.copy, [this] {
    if (const QString text = current_view()->as_text(); !text.isEmpty()) {
      QApplication::clipboard()->setText(text);
    }
  });
  on(a.picture, &MainWindow::save_picture);
  on(a.quit, [] { QApplication::closeAllWindows(); });
  connect(empty_, &EmptyPage::open_asked, this, &MainWindow::ask_for_files);
  connect(empty_, &EmptyPage::plan_asked, this, [this] { choose_view(kWhatIfView); });
  connect(empty_, &EmptyPage::recent_asked, this, [this](const QString& file) { open({file}); });
}

void MainWindow::connect_appearance() {
  const auto choose = [this](QAction* action, ThemeChoice choice) {
    connect(action, &QAction::triggered, this, [this, choice] {
      remembered_.set_theme(choice);
      choose_theme(choice);
    });
  };
  choose(actions_->system_theme, ThemeChoice::system);
  choose(actions_->light_theme, ThemeChoice::light);
  choose(actions_->dark_theme, ThemeChoice::dark);
  Appearance& appearance = Appearance::instance();
  connect(&appearance, &Appearance::changed, this, &MainWindow::fit_inspector);
  connect(actions_->larger, &QAction::triggered, this,
          [&] { set_text_scale(Appearance::instance().text_scale() + kTextStep); });
  connect(actions_->smaller, &QAction::triggered, this,
          [&] { set_text_scale(Appearance::instance().text_scale() - kTextStep); });
  connect(actions_->usual, &QAction::triggered, this, [this] { set_text_scale(1); });
  connect(actions_->less_motion, &QAction::triggered, this, [this](bool less) {
    Appearance::instance().set_less_motion(less);
    remembered_.set(kLessMotion, less);
  });
  actions_->less_motion->setChecked(appearance.has_less_motion());
}

void MainWindow::take_remembered_appearance() {
  Appearance& appearance = Appearance::instance();
  actions_->less_motion->setChecked(remembered_.get(kLessMotion));
  appearance.set_less_motion(remembered_.get(kLessMotion));
  appearance.set_text_scale(remembered_.get(kTextScale));
  choose_theme(remembered_.theme());
}

void MainWindow::choose_theme(ThemeChoice choice) {
  const bool is_dark =
      choice == ThemeChoice::system ? system_is_dark() : choice == ThemeChoice::dark;
  const ThemeName name = is_dark ? ThemeName::dark : ThemeName::light;
  if (name != theme().name()) Appearance::instance().set_theme(name);
}

void MainWindow::set_text_scale(double scale) {
  Appearance::instance().set_text_scale(scale);
  remembered_.set(kTextScale, Appearance::instance().text_scale());
}

void MainWindow::connect_session() {
  connect(&session_, &Session::documents_changed, this, [this] {
    std::vector<std::string> growing;
    for (const DocumentPtr& document : session_.documents()) {
      const bool is_recording =
          document->kind == traces::RecordingKind::fst && !document->trace->complete;
      if (is_recording && !document->path().empty()) growing.push_back(document->path());
    }
    growing_.watch(growing);
    refresh_view();
  });
  connect(&session_, &Session::current_changed, this, [this] {
    if (const DocumentPtr document = session_.current()) {
      session_.selection().set_marks(remembered_.marks(*document));
    }
    refresh_notice();
    refresh_view();
  });
  connect(&session_.selection(), &Selection::marks_changed, this, [this] {
    const DocumentPtr document = session_.current();
    if (document) remembered_.set_marks(*document, session_.selection().marks());
  });
  for (View* view : views_) {
    connect(view, &View::status_changed, this, &MainWindow::refresh_status);
    connect(view, &View::troubled, this, [this](const QString& sentence) {
      has_warnings_ = false;
      notice_->show_notice(Role::error, sentence);
    });
  }
}

void MainWindow::fit_selection() {
  const auto& id = session_.selection().event();
  if (!id) return;
  const traces::Interval span = session_.span_there(*id);
  const std::int64_t margin = std::max<std::int64_t>(1, (span.end_ns - span.start_ns) / 10);
  session_.axis().show({span.start_ns - margin, span.end_ns + margin});
}

void MainWindow::open_window() {
  auto* window = new MainWindow(remembered_.is_wanted());
  window->setAttribute(Qt::WA_DeleteOnClose);
  for (const DocumentPtr& document : session_.documents()) window->session().add(document);
  if (session_.current_index() >= 0) window->session().set_current(session_.current_index());
  window->resize(size());
  window->show_view(view_);
  window->show();
}

void MainWindow::show_help() {
  std::vector<KeySection> sections;
  sections.push_back({current_view()->title(), current_view()->keys()});
  sections.push_back({tr("Window"), actions_->keys()});
  for (View* view : views_) {
    if (view != current_view()) sections.push_back({view->title(), view->keys()});
  }
  std::erase_if(sections, [](const KeySection& section) { return section.keys.empty(); });
  help_->show_keys(sections);
}

// What the view does by a single key, each as an action that presses it. No shortcuts: a menu's would
// take the key away from the view.
QList<QAction*> MainWindow::commands_of_view(QObject* owner) {
  QList<QAction*> commands;
  View* const view = current_view();
  for (const KeyHelp& help : view->keys()) {
    const QKeySequence key(help.keys);
    if (key.count() != 1 || key[0].key() == Qt::Key_unknown || key[0].key() == 0) continue;
    if (key.toString() != help.keys || actions_->has_key(key)) continue;  // several keys, or words
    auto* command = new QAction(help.action + QLatin1Char('\t') + help.keys, owner);
    connect(command, &QAction::triggered, view, [view, key] { press(*view, key); });
    commands << command;
  }
  return commands;
}

void MainWindow::press(View& view, const QKeySequence& key) {
  for (QShortcut* shortcut : view.findChildren<QShortcut*>()) {
    if (shortcut->key() == key) return void(Q_EMIT shortcut->activated());
  }
  QWidget* target = &view;
  while (target->focusProxy() != nullptr) target = target->focusProxy();
  const QString text = key.toString().size() == 1 ? key.toString().toLower() : QString();
  QKeyEvent pressed(QEvent::KeyPress, key[0].key(), key[0].keyboardModifiers(), text);
  QApplication::sendEvent(target, &pressed);
}

void MainWindow::save_picture() {
  const QString file = QFileDialog::getSaveFileName(
      this, tr("Save a picture"), QStringLiteral("foreshard.png"), tr("Pictures (*.png *.svg)"));
  if (file.isEmpty()) return;
  if (const auto written = write_picture(*this, file.toStdString()); !written) {
    notice_->show_notice(Role::error, error_text(written.error()));
  }
}

// The inspector and the tables: docked, in a window of their own, or over the view.
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
  remembered_.set(kShowsInspector, is_wanted);
  remembered_.set(kGeometry, saveGeometry());
  remembered_.set(kLayout, saveState());
}

void MainWindow::restore_layout() {
  if (!restoreGeometry(remembered_.get(kGeometry))) {
    resize(kFirstSize.boundedTo(screen()->availableSize() * kShareOfScreen));
  }
  if (!remembered_.get(kLayout).isEmpty()) restoreState(remembered_.get(kLayout));
  is_inspector_wanted_ = remembered_.get(kShowsInspector);
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

// The example that the viewer carries: a measured run and its prediction, compared.
void MainWindow::greet() {
  if (!remembered_.is_wanted() || remembered_.get(kWasStarted)) return;
  remembered_.set(kWasStarted, true);
  show_example();
}

void MainWindow::show_example() {
  close_example();
  load_example_resources();
  example_ = std::make_unique<QTemporaryDir>();
  for (const char* name : {"measured.fst.gz", "predicted.fst.gz"}) {
    const QString file = example_->filePath(QLatin1String(name));
    if (QFile::copy(QStringLiteral(":/example/") + QLatin1String(name), file)) {
      read({file.toStdString()});
    }
  }
  notice_->show_notice(
      {},
      tr("This is an example: a measured step and its prediction. Open a trace, or "
         "drop one here."),
      {{tr("Open"), [this] { ask_for_files(); }},
       {tr("What-if"), [this] { choose_view(kWhatIfView); }}});
}

bool MainWindow::is_of_example(const std::string& path) const {
  return example_ != nullptr && path.starts_with(example_->path().toStdString());
}

void MainWindow::close_example() {
  if (example_ == nullptr) return;
  const auto& documents = session_.documents();
  for (int n = static_cast<int>(documents.size()) - 1; n >= 0; --n) {
    if (is_of_example(documents[static_cast<std::size_t>(n)]->path())) session_.close(n);
  }
  example_.reset();
  notice_->hide();
}

}  // namespace foreshard::gui
