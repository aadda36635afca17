#include "gui/views/shell/ending_signals.hpp"

#include <QApplication>
#include <QSocketNotifier>
#include <csignal>

#include <fcntl.h>
#include <unistd.h>

namespace foreshard::gui {
namespace {

// A handler may do next to nothing: it writes a byte, and the event loop reads it.
int pipe_ends[2] = {-1, -1};

bool is_ending = false;

void wake(int) {
  const char byte = 1;
  static_cast<void>(!::write(pipe_ends[1], &byte, 1));
}

}  // namespace

bool is_ending_by_signal() {
  return is_ending;
}

void close_on_signals() {
  if (::pipe2(pipe_ends, O_CLOEXEC | O_NONBLOCK) != 0) return;
  auto* notifier = new QSocketNotifier(pipe_ends[0], QSocketNotifier::Read, qApp);
  QObject::connect(notifier, &QSocketNotifier::activated, qApp, [] {
    is_ending = true;
    char byte = 0;
    static_cast<void>(!::read(pipe_ends[0], &byte, 1));
    QApplication::closeAllWindows();
    QApplication::quit();
  });
  std::signal(SIGTERM, wake);
  std::signal(SIGINT, wake);
}

}  // namespace foreshard::gui
