// foreshard-gui: the viewer.
#include <QApplication>
#include <QThreadPool>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "gui/paint/style.hpp"
#include "gui/views/shell/ending_signals.hpp"
#include "gui/views/shell/main_window.hpp"
#include "gui/views/shell/unattended.hpp"
#include "gui/views/shell/viewer_options.hpp"

namespace foreshard::gui {
namespace {

constexpr int kBadInput = 2;
constexpr int kPatienceMs = 300;

int complain_in_viewer(const std::string& sentence) {
  std::fprintf(stderr, "foreshard-gui: error: %s\n", sentence.c_str());
  return kBadInput;
}

bool has_display() {
  for (const char* name : {"DISPLAY", "WAYLAND_DISPLAY", "QT_QPA_PLATFORM"}) {
    if (const char* value = std::getenv(name); value != nullptr && *value != '\0') return true;
  }
  return false;
}

// Qt gives up where a display cannot be reached, with a core file and in several sentences of which
// the first has the reason. What it remarks otherwise is for programmers.
void end_in_a_sentence(QtMsgType type, const QMessageLogContext&, const QString& message) {
  static QString first_warning;
  if (type == QtWarningMsg && first_warning.isEmpty()) first_warning = message.simplified();
  if (type != QtFatalMsg) return;
  const QString reason = first_warning.isEmpty() ? message.simplified() : first_warning;
  std::_Exit(complain_in_viewer("the window cannot be opened: " + reason.toStdString()));
}

int show_window(const ViewerOptions& options) {
  MainWindow window(true);
  window.resize(options.has_size ? options.size : window.size());
  window.take_remembered_appearance();
  if (options.theme) Appearance::instance().set_theme(*options.theme);
  window.show();
  prepare(window, options);
  if (options.files.empty() && options.view < 0) window.greet();
  return QApplication::exec();
}

int run_viewer(int argc, char** argv, const ViewerOptions& options) {
  if (!options.needs_display()) {
    qputenv("QT_QPA_PLATFORM", "offscreen");
  } else if (!has_display()) {
    return complain_in_viewer(
        "there is no display here (DISPLAY and WAYLAND_DISPLAY are not set); pictures need none: "
        "foreshard-gui --render PICTURE FILE");
  }
  qInstallMessageHandler(end_in_a_sentence);
  QApplication application(argc, argv);
  QApplication::setApplicationName(QStringLiteral("foreshard-gui"));
  QApplication::setDesktopFileName(QStringLiteral("foreshard"));
  apply_style(application);
  close_on_signals();
  int status = 0;
  if (options.needs_display()) {
    status = show_window(options);
  } else {
    MainWindow window;
    Appearance::instance().set_theme(options.theme.value_or(ThemeName::light));
    if (const auto done = run_unattended(window, options); !done) {
      status = complain_in_viewer(done.error().text());
    }
  }
  // A recording that was given up is read to its end: nothing that is worth waiting for.
  if (!QThreadPool::globalInstance()->waitForDone(kPatienceMs)) std::_Exit(status);
  return status;
}

}  // namespace
}  // namespace foreshard::gui

int main(int argc, char** argv) {
  using namespace foreshard::gui;
  const auto options =
      parse_viewer_options(std::vector<std::string>(argv + (argc > 0 ? 1 : 0), argv + argc));
  if (!options) return complain_in_viewer(options.error().text());
  if (options->shows_help) return std::fputs(viewer_help().c_str(), stdout) < 0;
  if (options->shows_version) return std::puts("foreshard-gui " FORESHARD_VERSION) < 0;
  return run_viewer(argc, argv, *options);
}
