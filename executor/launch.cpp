#include "executor/launch.hpp"

#include <charconv>
#include <cstdlib>

namespace foreshard::executor {
namespace {

// The variables of one launcher.
struct Launcher {
  const char* name;
  const char* rank;
  const char* size;
  const char* local_rank;
  const char* local_size;  // nullptr: the launcher does not say
};

// In this order: srun may start mpirun, and either may start torchrun's workers.
constexpr Launcher kLaunchers[] = {
    {"mpirun", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK",
     "OMPI_COMM_WORLD_LOCAL_SIZE"},
    {"torchrun", "RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE"},
    {"srun", "SLURM_PROCID", "SLURM_NTASKS", "SLURM_LOCALID", nullptr},
};

Result<int> read(const Environment& environment, const char* name, int otherwise) {
  const auto text = environment(name);
  if (!text) return otherwise;
  int number = 0;
  const char* end = text->data() + text->size();
  const auto [stop, error] = std::from_chars(text->data(), end, number);
  if (error != std::errc{} || stop != end || number < 0) {
    return fail("environment", name,
                "\"" + *text + "\" is not a number; expected what a launcher sets, 0 or more");
  }
  return number;
}

}  // namespace

Result<std::optional<LaunchedRank>> launched_rank(const Environment& environment) {
  for (const Launcher& launcher : kLaunchers) {
    // A lone SLURM_PROCID is also what a batch script sees; only srun's steps have a local id.
    if (!environment(launcher.rank) || !environment(launcher.size) ||
        !environment(launcher.local_rank)) {
      continue;
    }
    const auto rank = read(environment, launcher.rank, 0);
    if (!rank) return tl::unexpected(rank.error());
    const auto size = read(environment, launcher.size, 1);
    if (!size) return tl::unexpected(size.error());
    const auto local_rank = read(environment, launcher.local_rank, 0);
    if (!local_rank) return tl::unexpected(local_rank.error());
    const auto local_size =
        launcher.local_size == nullptr ? Result<int>(0) : read(environment, launcher.local_size, 0);
    if (!local_size) return tl::unexpected(local_size.error());
    if (*rank >= *size) {
      return fail("environment", launcher.rank,
                  std::to_string(*rank) + " is not a rank of " + launcher.size + " = " +
                      std::to_string(*size) + "; expected less");
    }
    return LaunchedRank{*rank, *size, *local_rank, *local_size, launcher.name};
  }
  return std::nullopt;
}

Result<std::optional<LaunchedRank>> launched_rank() {
  return launched_rank([](const std::string& name) -> std::optional<std::string> {
    const char* value = std::getenv(name.c_str());
    return value == nullptr ? std::nullopt : std::optional<std::string>(value);
  });
}

}  // namespace foreshard::executor
