#include <algorithm>
#include <atomic>
#include <charconv>
#include <cstring>
#include <optional>
#include <string>
#include <vector>

#include <poll.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "executor/communication/message_communicator.hpp"
#include "executor/communication/process_memory.hpp"
#include "executor/communication/transport.hpp"
#include "executor/device/run_control.hpp"

namespace foreshard::executor {
namespace {

// Notices when another process of the run on this node has ended.
//
// A launcher that sees one process end kills the others, politely first (SIGTERM), and does not
// always name it. So while this object lives SIGTERM does not end the process at once,
// unless the program has its own handler: there is time to name the rank that is gone. A SIGTERM
// without a dead peer is reported as what it is, so that the run ends all the same.

class PeerProcesses {
 public:
  // All ranks together, like `exchange`.
  PeerProcesses(RunControl& run, Transport& transport);
  ~PeerProcesses();
  PeerProcesses(const PeerProcesses&) = delete;
  PeerProcesses& operator=(const PeerProcesses&) = delete;

  // The failure to report, if there is one now. From one thread only.
  std::optional<Failure> check();

 private:
  struct Peer {
    int rank = kNoRank;
    int descriptor = -1;  // of the process
  };
  std::optional<Failure> dead_peer() const;

  std::vector<Peer> peers_;
  bool owns_signal_ = false;
  int checks_since_signal_ = 0;
};

volatile sig_atomic_t was_terminated = 0;

void on_terminate(int) {
  was_terminated = 1;
}

PeerProcesses::PeerProcesses(RunControl& run, Transport& transport) {
  const std::string space = process_space() + " ";
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

// What ranks have to agree on; does not wait until it is due.
struct Agreed {
  OutOfMemoryAgreement::Position done = 0;
  OutOfMemoryAgreement::Position limit = OutOfMemoryAgreement::kNone;
  std::int64_t promise = LastStepAgreement::kNoPromise;

  bool operator==(const Agreed&) const = default;
};

// What one process sends the others, as bytes.
struct Pulse {
  std::uint64_t retired = 0;
  std::uint64_t last_instruction = 0;
  Agreed agreed;
  std::int32_t awaited = kNoRank;
  char operation[20] = "";
};

class MessageHeartbeat final : public Heartbeat {
 public:
  MessageHeartbeat(RunControl& run, Agreements& agreements, Transport& transport)
      : agreements_(agreements),
        transport_(transport),
        processes_(run, transport),
        peers_(static_cast<std::size_t>(transport.size())) {
    for (int rank = 0; rank < transport.size(); ++rank) {
      if (rank != transport.rank()) listen(rank);
    }
  }

  ~MessageHeartbeat() override {
    for (Peer& peer : peers_) {
      transport_.cancel(peer.receiving);
      transport_.cancel(peer.sending);
    }
  }

  int rank() const override { return transport_.rank(); }
  std::optional<Failure> check_peers() override {
    auto failure = transport_.lost();
    if (!failure) failure = misled_;
    return failure ? failure : processes_.check();
  }

  void update(std::vector<RankStatus>& ranks, std::vector<Wait>& waits, Nanoseconds now,
              bool is_due) override {
    const RankStatus& own = ranks[static_cast<std::size_t>(rank())];
    // What is done before the limit, see OutOfMemoryAgreement::is_settled.
    const OutOfMemoryAgreement::Position done = agreements_.memory.done(rank());
    Pulse mine{own.retired,
               own.last_instruction,
               {done, agreements_.memory.limit(), agreements_.last_step.promise()},
               kNoRank,
               ""};
    if (!waits.empty()) {
      mine.awaited = waits.front().awaited;
      std::strncpy(mine.operation, waits.front().operation, sizeof mine.operation - 1);
    }
    for (int other = 0; other < transport_.size(); ++other) {
      if (other == rank()) continue;
      Peer& peer = peers_[static_cast<std::size_t>(other)];
      hear(peer, other, ranks[static_cast<std::size_t>(other)], now);
      if (is_due || mine.agreed != peer.sent.agreed) tell(peer, other, mine);
      if (peer.known.awaited != kNoRank) {
        waits.push_back({other, peer.known.awaited, peer.known.operation});
      }
    }
  }

 private:
  struct Peer {
    Pulse heard, sent, known;
    Transport::Ticket receiving, sending;
  };

  void listen(int other) {
    Peer& peer = peers_[static_cast<std::size_t>(other)];
    peer.receiving = transport_.receive(std::as_writable_bytes(std::span(&peer.heard, 1)), other,
                                        kHeartbeatChannel);
  }

  void hear(Peer& peer, int other, RankStatus& status, Nanoseconds now) {
    while (!misled_ && transport_.test({&peer.receiving, 1}) == 0) {
      if (peer.heard.awaited < kNoRank || peer.heard.awaited >= transport_.size()) {
        misled_ = Failure{other, "it sent something that is not a heartbeat"};
        return;
      }
      peer.known = peer.heard;
      peer.known.operation[sizeof peer.known.operation - 1] = '\0';
      const Agreed& agreed = peer.known.agreed;
      agreements_.memory.hear(other, agreed.done, agreed.limit);
      agreements_.last_step.hear(other, agreed.promise);
      if (peer.known.retired != status.retired) status.last_progress = now;
      status.retired = peer.known.retired;
      status.last_instruction = peer.known.last_instruction;
      listen(other);
    }
  }

  // A process that does not listen any more is not told more than once.
  void tell(Peer& peer, int other, const Pulse& mine) {
    if (transport_.test({&peer.sending, 1}) != 0) return;
    peer.sent = mine;
    peer.sending =
        transport_.send(std::as_bytes(std::span(&peer.sent, 1)), other, kHeartbeatChannel);
  }

  Agreements& agreements_;
  Transport& transport_;
  PeerProcesses processes_;
  std::vector<Peer> peers_;
  std::optional<Failure> misled_;  // by a process that is not what it should be
};

}  // namespace

std::unique_ptr<Heartbeat> make_heartbeat(RunControl& run, Agreements& agreements,
                                          Transport& transport) {
  return std::make_unique<MessageHeartbeat>(run, agreements, transport);
}

}  // namespace foreshard::executor
