#include "cli/interruption.hpp"

#include <csignal>
#include <cstdlib>

namespace foreshard::cli {
namespace {

std::atomic<bool> interrupted{false};
std::atomic<int> first_signal{0};

// A second Ctrl-C does not wait. Launchers pass on as SIGTERM what a terminal has already sent to
// every process, so a SIGTERM is never the second.
volatile std::sig_atomic_t ctrl_c = 0;

extern "C" void on_interrupt(int signal) {
  if (signal == SIGINT && ctrl_c != 0) std::_Exit(130);
  if (signal == SIGINT) ctrl_c = 1;
  int none = 0;
  first_signal.compare_exchange_strong(none, signal);
  interrupted.store(true);
}

}  // namespace

const std::atomic<bool>& interruption() {
  return interrupted;
}

int interrupting_signal() {
  return first_signal;
}

void catch_signals() {
  std::signal(SIGINT, on_interrupt);
  std::signal(SIGTERM, on_interrupt);
}

void release_signals(bool was_interrupted) {
  std::signal(SIGINT, SIG_DFL);
  if (!interrupted && !was_interrupted) std::signal(SIGTERM, SIG_DFL);
}

}  // namespace foreshard::cli
