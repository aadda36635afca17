// Where the processes of a run meet, and how long they wait for each other: MASTER_ADDR and
// MASTER_PORT as torchrun sets them, or the first node of srun's step, and
// FORESHARD_RENDEZVOUS_TIMEOUT in seconds.
#pragma once

#include <string>

#include "executor/communication/launcher.hpp"
#include "models/base/units.hpp"

namespace foreshard::executor {

struct MeetingPoint {
  std::string host;  // a name, or a numeric address of IPv4 or IPv6
  int port = 0;
  Nanoseconds timeout{0};

  std::string text() const;  // "node1:29500", "[fe80::1]:29500"
};

// For a process that a launcher started.
Result<MeetingPoint> meeting_point(const LaunchedRank& launched, const Environment& environment);

// "gpu[003-010,12],login" -> "gpu003", as Slurm writes lists of nodes.
std::string first_of_node_list(const std::string& list);

}  // namespace foreshard::executor
