// The processes of a training run, or of a search that they share: which one this is, by what it talks to the
// others, and the processors it has among them.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "executor/communication/transport.hpp"
#include "models/base/units.hpp"

namespace foreshard::cli {

struct Processes {
  std::unique_ptr<executor::Transport> transport;  // nullptr: ranks are threads of this process
  bool uses_nccl = false;                          // for collectives
  std::vector<int> nodes;                          // by rank, where ranks are processes
  int ranks_here = 1;                              // on this machine
  int index_here = 0;                              // of this process among them
  int cores = 1;                                   // that all ranks share
  int threads_per_rank = 1;                        // that find a core each
};

// `ranks`: how many processes there have to be, where they are no threads; nothing: as many as were started, and one
// without a launcher. `comm` is --comm's value, `on_gpus` whether --device is cuda, `hash` the same in all
// processes that are to compute the same. Blocks until all processes have connected; throws where they do not. At
// the end no process waits longer than `hang_timeout` for others that send nothing.
Result<Processes> join_processes(std::optional<int> ranks, const std::string& comm, bool on_gpus,
                                 std::uint64_t hash, Nanoseconds hang_timeout);

}  // namespace foreshard::cli
