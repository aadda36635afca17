// How the processes of a run find each other over TCP. All go to rank 0, which waits at the meeting
// point; when the last one is there it sends everybody the addresses of all, and each connects to
// those before it. Strangers are sent why they are refused, and do not hold up anybody.
//
// What is opened to the network is a port at the meeting point (rank 0), and one at the address by
// which a rank reaches rank 0, while the processes meet; nothing is encrypted.
#pragma once

#include <optional>
#include <vector>

#include "executor/communication/meeting_point.hpp"
#include "executor/communication/socket.hpp"
#include "executor/communication/tcp_handshake.hpp"

namespace foreshard::executor {

struct Rendezvous {
  int rank = 0;
  std::optional<int> ranks_here;  // on this node, where that is known
  MeetingPoint point;
  RunIdentity run;
  bool lends_memory = true;  // to the ranks of its node, which read long messages where they lie
};

// A connection to each other rank, by rank; nothing at its own place. An error where something is
// wrong with the meeting point or with this process; throws std::runtime_error where processes do
// not come in time, or go away again, with their ranks.
Result<std::vector<Socket>> meet(const Rendezvous& rendezvous);

}  // namespace foreshard::executor
