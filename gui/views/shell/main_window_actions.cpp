// The window's actions: what each of them does, and what follows when the session changes.
#include <QApplication>
#include <QClipboard>
#include <QDockWidget>
#include <QFileDialog>
#include <QPushButton>

#include "gui/paint/style.hpp"
#include "gui/paint/theme.hpp"
#include "gui/views/base/data_table.hpp"
#include "gui/views/inspector/command_palette.hpp"
#include "gui/views/inspector/help_overlay.hpp"
#include "gui/views/inspector/results_panel.hpp"
#include "gui/views/inspector/search_field.hpp"
#include "gui/views/inspector/tables_panel.hpp"
#include "gui/views/shell/document_chips.hpp"
#include "gui/views/shell/empty_page.hpp"
#include "gui/views/shell/main_window.hpp"
#include "gui/views/shell/notice_bar.hpp"
#include "gui/views/shell/picture.hpp"
#include "gui/views/shell/status_bar.hpp"
#include "gui/views/shell/top_bar.hpp"
#include "gui/views/shell/view_tabs.hpp"
#include "gui/views/shell/window_actions.hpp"
#include "gui/views/timeline/timeline_view.hpp"

namespace foreshard::gui {
namespace {

constexpr double kTextStep = 0.1;

}  // namespace

void MainWindow::connect_actions() {
  WindowActions& a = *actions_;
  const auto on = [this](QAction* action, auto what) {
    connect(action, &QAction::triggered, this, what);
  };
  for (std::size_t n = 0; n < a.views.size(); ++n) {
    on(a.views[n], [this, n] { choose_view(static_cast<int>(n)); });
  }
  connect(&top_bar_->tabs(), &ViewTabs::chosen, this, &MainWindow::choose_view);
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
    remembered_.set_critical_path(shows);
  });
  a.critical_path->setChecked(remembered_.critical_path());
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
  on(a.commands, [this] { palette_->show_commands(actions_->all()); });
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
    remembered_.set_less_motion(less);
  });
  actions_->less_motion->setChecked(appearance.has_less_motion());
}

void MainWindow::take_remembered_appearance() {
  Appearance& appearance = Appearance::instance();
  actions_->less_motion->setChecked(remembered_.less_motion());
  appearance.set_less_motion(remembered_.less_motion());
  appearance.set_text_scale(remembered_.text_scale());
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
  remembered_.set_text_scale(Appearance::instance().text_scale());
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

void MainWindow::save_picture() {
  const QString file = QFileDialog::getSaveFileName(
      this, tr("Save a picture"), QStringLiteral("foreshard.png"), tr("Pictures (*.png *.svg)"));
  if (file.isEmpty()) return;
  if (const auto written = write_picture(*this, file.toStdString()); !written) {
    notice_->show_notice(Role::error, error_text(written.error()));
  }
}

}  // namespace foreshard::gui
