#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>

#include <fcntl.h>
#include <unistd.h>

#include "cli/command_line.hpp"
#include "cli/common/output.hpp"

namespace foreshard::cli {
namespace {

// A standard stream that is closed would give its number to the next file that is opened, and what
// is printed would land there. Opened the wrong way round, each use of it is an error instead.
void occupy_standard_streams() {
  constexpr int kWrongWay[] = {O_WRONLY, O_RDONLY, O_RDONLY};
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (::fcntl(stream, F_GETFD) < 0) static_cast<void>(::open("/dev/null", kWrongWay[stream]));
  }
}

// What was printed may still wait in a buffer, and an earlier part may be lost already.
int flush_output(int status) {
  const bool was_lost = std::ferror(stdout) != 0;
  const bool is_flushed = std::fflush(stdout) == 0 || errno == EPIPE;  // its reader may leave
  const bool is_whole = is_flushed && !was_lost;
  if (is_whole || status == kRunFailed || status == kBadInput) return status;
  const int failed = complain({"", "standard output",
                               std::string("cannot be written (") + std::strerror(errno) +
                                   "); expected room for the whole output"},
                              kRunFailed);
  return status == kSuccess ? failed : status;
}

int start(int argc, char** argv) {
  occupy_standard_streams();
  // A reader that goes away, and a file that grows too large, are failed writes, not deaths.
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);
  CommandLine line;
  const auto status = line.run(std::vector<std::string>(argv + (argc > 0 ? 1 : 0), argv + argc));
  return status ? *status : complain(status.error());
}

}  // namespace
}  // namespace foreshard::cli

int main(int argc, char** argv) {
  try {
    return foreshard::cli::flush_output(foreshard::cli::start(argc, argv));
  } catch (const std::exception& error) {
    return foreshard::cli::complain(error);
  }
}
