// The example that the viewer carries: a measured run and its prediction, compared.
#include <QFile>

#include "gui/views/shell/main_window.hpp"
#include "gui/views/shell/notice_bar.hpp"

// A library's resources are not linked unless somebody asks for them; the macro works outside
// namespaces alone.
static void load_example_resources() {
  Q_INIT_RESOURCE(example);
}

namespace foreshard::gui {

void MainWindow::greet() {
  if (!remembered_.is_wanted() || remembered_.was_started_before()) return;
  remembered_.set_started();
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
