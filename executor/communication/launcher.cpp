#include "executor/communication/launcher.hpp"

#include <charconv>
#include <cstdlib>

namespace foreshard::executor {
namespace {

// The variables of one launcher; nullptr: it has none of that kind.
struct Launcher {
  const char* name;
  const char* marks[2];  // one of them is there wherever this launcher started the process
  const char* rank;
  const char* sizes[2];  // the first one that is there counts
  const char* local_rank;
  const char* local_size;
};

// The innermost first: srun may start mpirun, and either may start torchrun. Jobs that set
// torchrun's variables under mpirun are mpirun's. A batch script sees Slurm's rank, but only srun's
// steps have a number; and what a step inherits from its job may be another number of tasks.
constexpr Launcher kLaunchers[] = {
    {"torchrun",
     {"TORCHELASTIC_RUN_ID", nullptr},
     "RANK",
     {"WORLD_SIZE", nullptr},
     "LOCAL_RANK",
     "LOCAL_WORLD_SIZE"},
    {"mpirun",
     {"OMPI_COMM_WORLD_SIZE", nullptr},
     "OMPI_COMM_WORLD_RANK",
     {"OMPI_COMM_WORLD_SIZE", nullptr},
     "OMPI_COMM_WORLD_LOCAL_RANK",
     "OMPI_COMM_WORLD_LOCAL_SIZE"},
    {"torchrun",
     {"WORLD_SIZE", "MASTER_ADDR"},
     "RANK",
     {"WORLD_SIZE", nullptr},
     "LOCAL_RANK",
     "LOCAL_WORLD_SIZE"},
    {"srun",
     {"SLURM_STEP_ID", "SLURM_STEPID"},
     "SLURM_PROCID",
     {"SLURM_STEP_NUM_TASKS", "SLURM_NTASKS"},
     "SLURM_LOCALID",
     nullptr},
    // MPICH and its relatives; srun may set the same beside its own.
    {"mpirun",
     {"PMI_SIZE", nullptr},
     "PMI_RANK",
     {"PMI_SIZE", nullptr},
     "MPI_LOCALRANKID",
     "MPI_LOCALNRANKS"},
};

bool is_there(const Environment& environment, const char* name) {
  return name != nullptr && environment(name).has_value();
}

bool has_started_us(const Launcher& launcher, const Environment& environment) {
  return is_there(environment, launcher.rank) &&
         (is_there(environment, launcher.marks[0]) || is_there(environment, launcher.marks[1]));
}

Result<int> read(const Environment& environment, const char* name, int least) {
  const auto text = environment(name);
  if (!text) return fail("environment", name, "is not set; expected it with its launcher's rank");
  int number = 0;
  const char* end = text->data() + text->size();
  const auto [stop, error] = std::from_chars(text->data(), end, number);
  if (error != std::errc{} || stop != end || number < least) {
    return fail("environment", name,
                "\"" + *text + "\" is not what a launcher sets; expected a number, " +
                    std::to_string(least) + " or more");
  }
  return number;
}

Result<void> read_optional(const Environment& environment, const char* name, int least, auto& out) {
  if (!is_there(environment, name)) return {};
  const auto number = read(environment, name, least);
  if (!number) return tl::unexpected(number.error());
  out = *number;
  return {};
}

// `number` is an index below `count`.
Result<void> check_below(int number, const char* name, int count, const char* count_name) {
  if (number < count) return {};
  return fail("environment", name,
              std::to_string(number) + " is not below " + count_name + " = " +
                  std::to_string(count) + "; expected 0 to " + std::to_string(count - 1));
}

Result<LaunchedRank> read(const Launcher& launcher, const Environment& environment) {
  LaunchedRank out;
  out.launcher = launcher.name;
  const char* size_name = is_there(environment, launcher.sizes[0]) || launcher.sizes[1] == nullptr
                              ? launcher.sizes[0]
                              : launcher.sizes[1];
  const auto rank = read(environment, launcher.rank, 0);
  if (!rank) return tl::unexpected(rank.error());
  const auto size = read(environment, size_name, 1);
  if (!size) return tl::unexpected(size.error());
  out.rank = *rank;
  out.size = *size;
  Result<void> ok = check_below(out.rank, launcher.rank, out.size, size_name);
  if (ok) ok = read_optional(environment, launcher.local_rank, 0, out.local_rank);
  if (ok) ok = read_optional(environment, launcher.local_size, 1, out.local_size);
  if (ok && out.local_size) {
    ok = check_below(out.local_rank, launcher.local_rank, *out.local_size, launcher.local_size);
  }
  if (!ok) return tl::unexpected(ok.error());
  return out;
}

// By what processes talk that were started together.
CommKind kind_for(const LaunchedRank& launched, const Environment& environment) {
  if (launched.size == 1) return CommKind::local;
  if (launched.launcher == "mpirun") return CommKind::mpi;
  // MPI's own start-up (PMIx) serves where nobody named a meeting point.
  const bool has_meeting_point = is_there(environment, "MASTER_ADDR");
  return !has_meeting_point && is_there(environment, "PMIX_RANK") ? CommKind::mpi : CommKind::tcp;
}

}  // namespace

Environment process_environment() {
  return [](const std::string& name) -> std::optional<std::string> {
    const char* value = std::getenv(name.c_str());
    return value == nullptr ? std::nullopt : std::optional<std::string>(value);
  };
}

Result<std::optional<LaunchedRank>> launched_rank(const Environment& environment,
                                                  std::string_view asked) {
  for (const Launcher& launcher : kLaunchers) {
    if (!has_started_us(launcher, environment)) continue;
    const bool says_size =
        is_there(environment, launcher.sizes[0]) || is_there(environment, launcher.sizes[1]);
    if (asked == "local" && !says_size) continue;
    auto rank = read(launcher, environment);
    if (!rank) return tl::unexpected(rank.error());
    return std::move(*rank);
  }
  return std::nullopt;
}

Result<CommChoice> choose_comm(std::string_view asked, const std::optional<LaunchedRank>& launched,
                               const Environment& environment, bool on_gpus) {
  const bool has_others = launched && launched->size > 1;
  if (asked == "auto" || asked == "nccl") {
    if (asked == "nccl" && !on_gpus) {
      return fail("", "--comm",
                  "'nccl' is for GPUs; expected --device cuda with it, or auto, local, tcp or mpi");
    }
    const CommKind kind = launched ? kind_for(*launched, environment) : CommKind::local;
    return CommChoice{kind, asked == "nccl" || (on_gpus && has_others)};
  }
  if (on_gpus && (asked == "tcp" || asked == "mpi")) {
    return fail("", "--comm",
                "'" + std::string(asked) +
                    "' reads the host's memory, not that of GPUs; expected auto, local or nccl");
  }
  if (asked == "mpi") return CommChoice{CommKind::mpi};
  if (asked == "local") {
    if (!has_others) return CommChoice{};
    return fail("", "--comm",
                "'local' under " + launched->launcher + " would train the whole job in each of " +
                    std::to_string(launched->size) +
                    " processes; expected auto, tcp or mpi, or a single process");
  }
  if (asked == "tcp") {
    if (launched) return CommChoice{CommKind::tcp};
    return fail("", "--comm",
                "'tcp' needs the processes of the run; expected RANK, WORLD_SIZE, "
                "MASTER_ADDR and MASTER_PORT as torchrun sets them, or srun's variables");
  }
  return fail(
      "", "--comm",
      "'" + std::string(asked) + "' is not a communicator; expected auto, local, tcp, mpi or nccl");
}

}  // namespace foreshard::executor
