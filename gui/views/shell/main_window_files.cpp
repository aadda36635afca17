// The window's files: opening, reading again, following, dropping, and what is said about them.
#include <QDragEnterEvent>
#include <QDropEvent>
#include <QFileDialog>
#include <QMimeData>
#include <algorithm>
#include <filesystem>
#include <utility>

#include "gui/models/base/in_background.hpp"
#include "gui/models/session/memory_need.hpp"
#include "gui/models/session/sentences.hpp"
#include "gui/views/shell/main_window.hpp"
#include "gui/views/shell/notice_bar.hpp"
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
bool is_one_file(const std::string& a, const std::string& b) {
  std::error_code error;
  return a == b || std::filesystem::equivalent(a, b, error);
}

bool has_file(const std::vector<std::string>& files, const std::string& file) {
  return std::ranges::any_of(files, [&](const std::string& one) { return is_one_file(one, file); });
}

bool share_a_file(const Document& a, const Document& b) {
  return std::ranges::any_of(a.files,
                             [&](const std::string& file) { return has_file(b.files, file); });
}

bool is_of_profiler(const std::string& path) {
  std::error_code error;
  return !std::filesystem::is_directory(path, error) &&
         traces::recording_kind(path, "") == traces::RecordingKind::kineto;
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
  connect(&loader_, &Loader::finished, this, &MainWindow::read_plans);
  connect(&loader_, &Loader::opened, this, &MainWindow::take);
  connect(&loader_, &Loader::failed, this, &MainWindow::say);
  connect(&growing_, &GrowingFiles::grew, this, [this](const std::string& path) {
    for (const DocumentPtr& document : session_.documents()) {
      if (document->path() == path) return loader_.reload(*document, true);
    }
  });
  connect(part_, &PartBar::part_wanted, this,
          [this](const std::string& path, traces::StepRange steps) { read({path}, steps); });
  connect(part_, &PartBar::all_wanted, this, [this](const std::string& path) { read({path}); });
  connect(part_, &PartBar::answered, this, &MainWindow::offer_next);
  connect(notice_, &NoticeBar::closed, this, &MainWindow::offer_next);
}

void MainWindow::open(const QStringList& paths, const Loader::Steps& steps) {
  const std::int64_t all_free = available_memory().value_or(0);
  std::int64_t free = all_free;
  std::vector<std::string> fitting;
  for (const QString& path : paths) {
    const std::string name = path.toStdString();
    const std::int64_t needed = estimated_memory(name);
    if (all_free > 0 && !steps && needed > free) {
      ask_for_part_of(name, std::max<std::int64_t>(free, 1));
    } else {
      fitting.push_back(name);
      free -= needed;
    }
  }
  read(fitting, steps);
}

void MainWindow::open_part(const QString& path) {
  ask_for_part_of(path.toStdString(), available_memory().value_or(0));
}

void MainWindow::ask_for_part_of(const std::string& path, std::int64_t free_bytes) {
  ++offers_made_;
  in_background([path, free_bytes] {
    return offer_part(path, free_bytes);
  }).then(this, [this](const QFuture<PartOffer>& made) {
    --offers_made_;
    if (auto offer = result_of(made)) offers_.push_back(*std::move(offer));
    if (part_->isHidden() && !is_offering_) offer_next();
  });
}

// One question at a time.
void MainWindow::offer_next() {
  is_offering_ = false;
  if (offers_.empty()) return;
  const PartOffer offer = std::move(offers_.front());
  offers_.pop_front();
  if (offer.recorded) return part_->ask(offer);
  is_offering_ = true;
  has_warnings_ = false;
  const QString too_large = too_large_text(offer.needed_bytes, offer.free_bytes);
  const QString no_part = no_part_text(offer);
  if (too_large.isEmpty()) return notice_->show_notice(Role::warn, no_part);
  notice_->show_notice(Role::warn, too_large + QLatin1Char(' ') + no_part,
                       {{tr("Open it nevertheless"), [this, path = offer.path] {
                           notice_->hide();
                           read({path});
                           offer_next();
                         }}});
}

void MainWindow::read(const std::vector<std::string>& paths, const Loader::Steps& steps) {
  std::vector<std::string> of_ranks;
  for (const std::string& path : paths) {
    if (!steps && is_of_profiler(path) && !has_file(of_ranks, path)) of_ranks.push_back(path);
  }
  for (const std::string& path : paths) {
    if (is_any_plan(path)) {
      plans_.push_back(path);
    } else if (of_ranks.size() < 2 || !has_file(of_ranks, path)) {
      loader_.open(path, steps);
    } else if (path == of_ranks.front()) {
      loader_.open_ranks(of_ranks);
    }
  }
  if (!loader_.is_busy()) read_plans();
}

// On the question of what is shown then.
void MainWindow::read_plans() {
  for (const std::string& path : std::exchange(plans_, {})) read_plan(path);
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
  if (!is_of_example(document->path())) {
    close_example();
    for (const std::string& file : document->files) {
      std::error_code error;
      const auto whole = std::filesystem::absolute(file, error);
      remembered_.add_recent(QString::fromStdString(error ? file : whole.string()));
    }
  }
  const auto& documents = session_.documents();
  const auto is_same = [&](const DocumentPtr& one) { return share_a_file(*one, *document); };
  const auto same = std::ranges::find_if(documents, is_same);
  if (same == documents.end()) {
    session_.add(document);
    show_situation(*document);
    return offer_one_run(*document);
  }
  const auto place = static_cast<int>(same - documents.begin());
  if (noticed_ == same->get()) noticed_ = document.get();
  session_.replace(place, document);
  for (int n = static_cast<int>(documents.size()) - 1; n > place; --n) {
    if (is_same(documents[static_cast<std::size_t>(n)])) session_.close(n);
  }
  if (actions_->follow->isChecked()) follow_end();
}

// Ranks of one run whose files were opened one after the other are two documents until somebody wants one.
void MainWindow::offer_one_run(const Document& document) {
  for (const DocumentPtr& other : session_.documents()) {
    if (!are_ranks_of_one_run(*other, document)) continue;
    std::vector<std::string> files = other->files;
    files.insert(files.end(), document.files.begin(), document.files.end());
    has_warnings_ = false;
    notice_->show_notice(
        {}, tr("%1 and %2 seem to be ranks of one run.").arg(other->title, document.title),
        {{tr("Show them as one"), [this, files] {
            notice_->hide();
            loader_.open_ranks(files);
          }}});
    return;
  }
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
  if (!folder.isEmpty()) open({folder});
}

void MainWindow::reload() {
  const DocumentPtr document = session_.current();
  if (document != nullptr && !document->files.empty()) loader_.reload(*document, false);
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
