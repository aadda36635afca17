// The processors that a process may use: those of its affinity mask (taskset, a launcher's binding,
// cpusets), as far as the quota of its control group goes (containers). And how the processes of a
// run share them: a processor that several may use is divided among them, one that a launcher has
// bound to a process is that process' alone.
#pragma once

#include <filesystem>
#include <limits>
#include <string>
#include <vector>

namespace foreshard::traces {

struct Processors {
  std::string node;         // the same for processes on one machine
  std::vector<int> usable;  // numbers of the processors this process may run on
  double quota = std::numeric_limits<double>::infinity();  // seconds of processors per second
  std::string quota_group;                                 // the same for processes that share it
};

Processors own_processors();
// The quota of control groups, version 1 or 2, of the process whose files lie under `root` ("/" on a
// real system); infinite where there is none.
double cpu_quota(const std::filesystem::path& root);

// Whole processors that this process may use, at least 1.
int cores();
// The share of process `me` among all processes of a run, at least 1.
int share_of_cores(const std::vector<Processors>& all, std::size_t me);
// Processors that the run uses together, at least 1.
int total_cores(const std::vector<Processors>& all);

// For messages between the processes of a run. Text that is not of `to_text` gives nothing usable.
std::string to_text(const Processors& processors);
Processors processors_from_text(const std::string& text);

}  // namespace foreshard::traces
