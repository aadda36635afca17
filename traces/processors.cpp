#include "traces/processors.hpp"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <iomanip>
#include <locale>
#include <map>
#include <set>
#include <sstream>
#include <thread>

#include <sched.h>

#include "models/base/control_groups.hpp"
#include "traces/metadata.hpp"

namespace foreshard::traces {
namespace {

namespace fs = std::filesystem;

constexpr double kUnlimited = std::numeric_limits<double>::infinity();

std::string contents(const fs::path& file) {
  std::ifstream stream(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

double number_in(const fs::path& file) {
  std::ifstream stream(file);
  double number = 0;
  return stream >> number ? number : 0;
}

// Quota by period: version 2 has "max 100000" or "150000 100000", microseconds, version 1 the same in
// two files; -1 means unlimited.
double quota_of(const ControlGroup& group) {
  double quota = 0, period = 0;
  if (group.version == 1) {
    quota = number_in(group.folder / "cpu.cfs_quota_us");
    period = number_in(group.folder / "cpu.cfs_period_us");
  } else {
    std::ifstream stream(group.folder / "cpu.max");
    stream >> quota >> period;
  }
  return quota > 0 && period > 0 ? quota / period : kUnlimited;
}

std::string link_target(const fs::path& link) {
  std::error_code ignored;
  return fs::read_symlink(link, ignored).string();
}

int whole(double cores) {
  return std::max(1, static_cast<int>(std::floor(std::min(cores, 1e6) + 1e-9)));
}

}  // namespace

double cpu_quota(const fs::path& root) {
  double least = kUnlimited;
  for (const ControlGroup& group : control_groups(root, "cpu")) {
    least = std::min(least, quota_of(group));
  }
  return least;
}

Processors own_processors() {
  Processors own;
  own.node = clock_id();
  // Machines with more processors than a fixed set holds need a larger one; the kernel reports it.
  for (int room = CPU_SETSIZE; room <= 1 << 20 && own.usable.empty(); room *= 2) {
    cpu_set_t* const set = CPU_ALLOC(static_cast<std::size_t>(room));
    const std::size_t bytes = CPU_ALLOC_SIZE(static_cast<std::size_t>(room));
    if (sched_getaffinity(0, bytes, set) == 0) {
      for (int cpu = 0; cpu < room; ++cpu) {
        if (CPU_ISSET_S(static_cast<std::size_t>(cpu), bytes, set)) own.usable.push_back(cpu);
      }
    }
    CPU_FREE(set);
  }
  if (own.usable.empty()) {
    const int all = static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
    for (int cpu = 0; cpu < all; ++cpu) own.usable.push_back(cpu);
  }
  own.quota = cpu_quota("/");
  own.quota_group = link_target("/proc/self/ns/cgroup") + contents("/proc/self/cgroup");
  std::replace(own.quota_group.begin(), own.quota_group.end(), '\n', ' ');
  return own;
}

int cores() {
  return share_of_cores({own_processors()}, 0);
}

int share_of_cores(const std::vector<Processors>& all, std::size_t me) {
  const Processors& mine = all[me];
  std::map<int, int> users;  // of each processor of this node
  int sharers = 0;           // of the quota
  for (const Processors& other : all) {
    if (other.node != mine.node) continue;
    for (const int cpu : other.usable) ++users[cpu];
    if (other.quota_group == mine.quota_group) ++sharers;
  }
  double share = 0;
  for (const int cpu : mine.usable) share += 1.0 / users[cpu];
  return whole(std::min(share, mine.quota / std::max(1, sharers)));
}

int total_cores(const std::vector<Processors>& all) {
  std::map<std::string, std::set<int>> usable;                   // by node
  std::map<std::string, std::map<std::string, double>> granted;  // by node and group
  for (const Processors& process : all) {
    usable[process.node].insert(process.usable.begin(), process.usable.end());
    granted[process.node][process.quota_group] = process.quota;
  }
  double total = 0;
  for (const auto& [node, cpus] : usable) {
    double quota = 0;
    for (const auto& [group, grant] : granted[node]) quota += grant;
    total += std::min(static_cast<double>(cpus.size()), quota);
  }
  return whole(total);
}

// Four lines; no value has a line break in it.
std::string to_text(const Processors& processors) {
  std::ostringstream text;
  text.imbue(std::locale::classic());
  text << processors.node << '\n' << processors.quota_group << '\n';
  text << (std::isfinite(processors.quota) ? processors.quota : -1) << '\n';
  for (const int cpu : processors.usable) text << cpu << ' ';
  return text.str();
}

Processors processors_from_text(const std::string& text) {
  Processors out;
  std::istringstream lines(text);
  lines.imbue(std::locale::classic());
  std::getline(lines, out.node);
  std::getline(lines, out.quota_group);
  double quota = -1;
  lines >> quota;
  out.quota = quota > 0 ? quota : kUnlimited;
  for (int cpu = 0; lines >> cpu;) out.usable.push_back(cpu);
  return out;
}

}  // namespace foreshard::traces
