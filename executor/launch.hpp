// Who this process is among the processes of a run, from the variables that launchers set:
// OpenMPI's mpirun, torchrun and Slurm's srun.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "models/error.hpp"

namespace foreshard::executor {

struct LaunchedRank {
  int rank = 0;
  int size = 1;
  int local_rank = 0;    // on this node
  int local_size = 1;    // ranks on this node
  std::string launcher;  // "mpirun", "torchrun" or "srun"
};

// Nothing when no launcher started this process; an error when its variables contradict each other.
using Environment = std::function<std::optional<std::string>(const std::string& name)>;
Result<std::optional<LaunchedRank>> launched_rank(const Environment& environment);
Result<std::optional<LaunchedRank>> launched_rank();  // of this process

}  // namespace foreshard::executor
