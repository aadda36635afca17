// The window's files: opening, reading again, following, dropping, and what is said about them.
#include <QDragEnterEvent>
#include <QDropEvent>
#include <QFileDialog>
#include <QMimeData>
#include <filesystem>
#include <utility>

#include "gui/models/session/memory_need.hpp"
#include "gui/models/session/sentences.hpp"
#include "gui/views/shell/main_window.hpp"
#include "gui/views/shell/notice_bar.hpp"
#include "gui/views/shell/part_bar.hpp"
#include "gui/views/shell/window_actions.hpp"
#include "gui/views/what_if/what_if_view.hpp"
#include "models/base/host_memory.hpp"
#include "models/plan/foreign/foreign_plans.hpp"

namespace foreshard::gui {
namespace {

QStringList dropped_files(const QMimeData& data) {
  QStringList files;
  for (const QUrl& url : data.urls()) {
    if (url.isLocalFile()) files.append(url.toLocalFile());
  }
  return files;
}

// However their paths are written.
bool are_of_one_file(const Document& a, const Document& b) {
  std::error_code error;
  return a.path == b.path || std::filesystem::equivalent(a.path, b.path, error);
}

}  // namespace

void MainWindow::connect_loader() {
  connect(&loader_, &Loader::progressed, this, [this] {
    if (loader_.is_quiet() || !loader_.is_busy()) return;
    const Loading loading = loader_.loading();
    if (loading_->isHidden()) {
      loading_->show_notice({}, loading_text(loading),
                            {{tr("Cancel"), [this] { loader_.cancel(); }}}, false);
    }
    loading_->set_text(loading_text(loading));
    loading_->set_progress(loading.total > 0 ? static_cast<double>(loading.done) /
                                                   static_cast<double>(loading.total)
                                             : 0);
  });
  connect(&loader_, &Loader::finished, loading_, &NoticeBar::hide);
  connect(&loader_, &Loader::opened, this, &MainWindow::take);
  connect(&loader_, &Loader::failed, this, &MainWindow::say);
  connect(&growing_, &GrowingFiles::grew, this, [this](const std::string& path) {
    for (const DocumentPtr& document : session_.documents()) {
      if (document->path == path) return loader_.reload(*document, true);
    }
  });
  connect(part_, &PartBar::part_wanted, this,
          [this](const std::string& path, traces::StepRange steps) { read(path, steps); });
  connect(part_, &PartBar::all_wanted, this, [this](const std::string& path) { read(path); });
}

void MainWindow::open(const QString& path, const Loader::Steps& steps) {
  const std::string name = path.toStdString();
  const std::int64_t free = available_memory().value_or(0);
  if (steps || too_large_text(estimated_memory(name), free).isEmpty()) return read(name, steps);
  offers_.request([name, free] { return offer_part(name, free); });
}

void MainWindow::open(const QStringList& paths) {
  for (const QString& path : paths) open(path);
}

void MainWindow::open_part(const QString& path) {
  offers_.request([name = path.toStdString(), free = available_memory().value_or(0)] {
    return offer_part(name, free);
  });
}

void MainWindow::offer(const PartOffer& offer) {
  if (offer.recorded) return part_->ask(offer);
  has_warnings_ = false;
  const QString too_large = too_large_text(offer.needed_bytes, offer.free_bytes);
  const QString no_part = no_part_text(offer);
  if (too_large.isEmpty()) return notice_->show_notice(Role::warn, no_part);
  notice_->show_notice(Role::warn, too_large + QLatin1Char(' ') + no_part,
                       {{tr("Open it nevertheless"), [this, path = offer.path] {
                           notice_->hide();
                           read(path);
                         }}});
}

void MainWindow::read(const std::string& path, const Loader::Steps& steps) {
  if (is_any_plan(path)) return read_plan(path);
  loader_.open(path, steps);
}

void MainWindow::read_plan(const std::string& path) {
  choose_view(kWhatIfView);
  const Result<QString> left_out = what_if_->load_plan_file(QString::fromStdString(path));
  if (!left_out) return say(left_out.error());
  if (!left_out->isEmpty()) notice_->show_notice(Role::warn, *left_out);
}

void MainWindow::say(const Error& error) {
  has_warnings_ = false;
  notice_->show_notice(Role::error, error_text(error));
  Q_EMIT failed(error);
}

void MainWindow::take(DocumentPtr document) {
  if (!is_of_example(document->path)) close_example();
  std::error_code error;
  const auto whole = std::filesystem::absolute(document->path, error);
  if (!is_of_example(document->path))
    remembered_.add_recent(QString::fromStdString(error ? document->path : whole.string()));
  const auto& documents = session_.documents();
  for (std::size_t n = 0; n < documents.size(); ++n) {
    if (!are_of_one_file(*documents[n], *document)) continue;
    if (noticed_ == documents[n].get()) noticed_ = document.get();
    session_.replace(static_cast<int>(n), document);
    if (actions_->follow->isChecked()) follow_end();
    return;
  }
  session_.add(document);
  show_situation(*document);
}

// The view that answers first: a snapshot has no kernels, and two traces are there to be compared.
void MainWindow::show_situation(const Document& document) {
  if (is_view_chosen_) return;
  int view = kTimelineView;
  const bool has_memory_alone = document.kind == traces::RecordingKind::snapshot ||
                                document.kind == traces::RecordingKind::event_list;
  if (has_memory_alone) view = kMemoryView;
  if (session_.documents().size() == 2) view = kCompareView;
  show_view(view);
}

void MainWindow::refresh_notice() {
  const DocumentPtr document = session_.current();
  if (document.get() == noticed_) return;
  noticed_ = document.get();
  const auto all = document ? warnings(*document) : std::vector<Statement>();
  if (all.empty()) {
    if (std::exchange(has_warnings_, false)) notice_->hide();
    return;
  }
  has_warnings_ = true;
  QStringList sentences;
  for (const Statement& statement : all) sentences.append(statement.text);
  notice_->show_notice(all.front().state, sentences.join(QLatin1Char(' ')));
}

void MainWindow::ask_for_files() {
  open(QFileDialog::getOpenFileNames(
      this, tr("Open traces"), {},
      tr("Traces (*.fst *.json *.jsonl *.sqlite *.pickle *.gz);;Plans and configurations (*.toml "
         "*.yaml *.yml *.json);;All files (*)")));
}

void MainWindow::ask_for_part() {
  const QString file =
      QFileDialog::getOpenFileName(this, tr("Open a part of a trace"), {},
                                   tr("Traces with steps (*.fst *.fst.gz);;All files (*)"));
  if (!file.isEmpty()) open_part(file);
}

void MainWindow::ask_for_folder() {
  const QString folder = QFileDialog::getExistingDirectory(this, tr("Open a folder of ranks"));
  if (!folder.isEmpty()) open(folder);
}

void MainWindow::reload() {
  const DocumentPtr document = session_.current();
  if (document != nullptr && !document->path.empty()) loader_.reload(*document, false);
}

void MainWindow::follow_end() {
  TimeAxis& axis = session_.axis();
  const traces::Interval all = session_.everything();
  const std::int64_t length = axis.end_ns() - axis.start_ns();
  axis.show({all.end_ns - length, all.end_ns});
}

void MainWindow::dragEnterEvent(QDragEnterEvent* event) {
  if (!dropped_files(*event->mimeData()).isEmpty()) event->acceptProposedAction();
}

void MainWindow::dropEvent(QDropEvent* event) {
  const QStringList files = dropped_files(*event->mimeData());
  if (files.isEmpty()) return;
  event->acceptProposedAction();
  open(files);
}

}  // namespace foreshard::gui
