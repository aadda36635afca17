// Who this process is among the processes of a run, and by what they are to talk, from the variables
// that launchers set: OpenMPI's mpirun, torchrun and Slurm's srun.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "models/base/error.hpp"

namespace foreshard::executor {

struct LaunchedRank {
  int rank = 0;
  int size = 1;
  int local_rank = 0;             // on this node
  std::optional<int> local_size;  // ranks on this node, where the launcher sets it
  std::string launcher;           // "mpirun", "torchrun" or "srun"
};

using Environment = std::function<std::optional<std::string>(const std::string& name)>;
Environment process_environment();

// Nothing when no launcher started this process; an error when its variables are no numbers,
// contradict each other or are not all there. Who has `asked` for one process ("local", of --comm)
// may have some of them left over.
Result<std::optional<LaunchedRank>> launched_rank(const Environment& environment,
                                                  std::string_view asked = "auto");

// By what the ranks of a run talk: threads of one process, or messages between processes.
enum class CommKind : std::uint8_t { local, tcp, mpi };
struct CommChoice {
  CommKind kind = CommKind::local;
  bool uses_nccl = false;  // for collectives; messages carry what the hosts say to each other
};

// What --comm selects ("auto": what the launcher calls for, and NCCL between processes that train on
// GPUs). Processes that would each train the whole job are an error.
Result<CommChoice> choose_comm(std::string_view asked, const std::optional<LaunchedRank>& launched,
                               const Environment& environment, bool on_gpus = false);

}  // namespace foreshard::executor
