#include "executor/communication/peer_processes.hpp"

#include <array>
#include <atomic>
#include <charconv>
#include <fstream>

#include <poll.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace foreshard::executor {
namespace {

volatile sig_atomic_t was_terminated = 0;

void on_terminate(int) {
  was_terminated = 1;
}

// The same for processes that can see each other's ids.
std::string id_space() {
  std::string boot;
  std::ifstream("/proc/sys/kernel/random/boot_id") >> boot;
  std::array<char, 64> link{};
  const ssize_t length = readlink("/proc/self/ns/pid", link.data(), link.size());
  if (length > 0) boot.append(link.data(), static_cast<std::size_t>(length));
  return boot;
}

}  // namespace

PeerProcesses::PeerProcesses(RunControl& run, Transport& transport) {
  const std::string space = id_space() + " ";
  const auto all = exchange(run, transport, space + std::to_string(getpid()));
  for (int rank = 0; rank < transport.size(); ++rank) {
    const std::string& other = all[static_cast<std::size_t>(rank)];
    if (rank == transport.rank() || !other.starts_with(space)) continue;
    pid_t process = 0;  // none is watched where the text is no number
    std::from_chars(other.data() + space.size(), other.data() + other.size(), process);
    const auto descriptor = static_cast<int>(syscall(SYS_pidfd_open, process, 0));
    if (descriptor >= 0) peers_.push_back({rank, descriptor});
  }
  struct sigaction present {};
  sigaction(SIGTERM, nullptr, &present);
  if (present.sa_handler == SIG_DFL) {
    struct sigaction own {};
    own.sa_handler = on_terminate;
    sigaction(SIGTERM, &own, nullptr);
    owns_signal_ = true;
  }
}

PeerProcesses::~PeerProcesses() {
  for (const Peer& peer : peers_) close(peer.descriptor);
  if (owns_signal_) signal(SIGTERM, SIG_DFL);
}

std::optional<Failure> PeerProcesses::dead_peer() const {
  for (const Peer& peer : peers_) {
    pollfd ended{peer.descriptor, POLLIN, 0};
    if (poll(&ended, 1, 0) == 1) {
      return Failure{peer.rank, "its process has ended unexpectedly"};
    }
  }
  return std::nullopt;
}

std::optional<Failure> PeerProcesses::check() {
  if (auto failure = dead_peer()) return failure;
  // The process that died may be on another node; its neighbours report it.
  if (was_terminated && ++checks_since_signal_ > 2) {
    return Failure{kNoRank, "terminated by signal SIGTERM"};
  }
  return std::nullopt;
}

}  // namespace foreshard::executor
