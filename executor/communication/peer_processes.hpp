// Notices when another process of the run on this node has ended.
//
// A launcher that sees one process end kills the others, politely first (SIGTERM), and does not
// always name it. So while this object lives SIGTERM does not end the process at once,
// unless the program has its own handler: there is time to name the rank that is gone. A SIGTERM
// without a dead peer is reported as what it is, so that the run ends all the same.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "executor/communication/transport.hpp"
#include "executor/device/run_control.hpp"

namespace foreshard::executor {

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

}  // namespace foreshard::executor
