#include "executor/device/numa.hpp"

#include <algorithm>
#include <charconv>
#include <fstream>
#include <iterator>
#include <map>
#include <string>
#include <string_view>

namespace foreshard::executor {
namespace {

// The numbers of "0-3,8"; none of what is not such a list.
std::vector<int> processors_in(std::string_view list) {
  std::vector<int> found;
  const char* at = list.data();
  const char* const end = at + list.size();
  while (at < end) {
    int first = 0;
    auto read = std::from_chars(at, end, first);
    if (read.ec != std::errc{}) break;
    int last = first;
    if (read.ptr < end && *read.ptr == '-') {
      read = std::from_chars(read.ptr + 1, end, last);
      if (read.ec != std::errc{}) break;
    }
    for (int cpu = first; cpu <= std::min(last, CPU_SETSIZE - 1); ++cpu) found.push_back(cpu);
    at = read.ptr + 1;
  }
  return found;
}

}  // namespace

std::vector<std::vector<int>> numa_nodes(const std::filesystem::path& root) {
  cpu_set_t usable;
  if (sched_getaffinity(0, sizeof usable, &usable) != 0) return {};
  std::map<int, std::vector<int>> by_number;
  std::error_code ignored;
  const auto folder = root / "sys/devices/system/node";
  for (const auto& entry : std::filesystem::directory_iterator(folder, ignored)) {
    const std::string name = entry.path().filename();
    int number = 0;
    if (!name.starts_with("node") ||
        std::from_chars(name.data() + 4, name.data() + name.size(), number).ec != std::errc{}) {
      continue;
    }
    std::string list;
    std::ifstream(entry.path() / "cpulist") >> list;
    for (const int cpu : processors_in(list)) {
      if (CPU_ISSET(static_cast<std::size_t>(cpu), &usable)) by_number[number].push_back(cpu);
    }
  }
  std::vector<std::vector<int>> nodes;
  for (auto& [number, processors] : by_number) nodes.push_back(std::move(processors));
  return nodes;
}

std::vector<int> processors_of(std::span<const std::vector<int>> nodes, int place, int ranks,
                               int threads) {
  const int count = static_cast<int>(nodes.size());
  if (count < 2) return {};
  const auto node_of = [&](int rank) { return static_cast<std::size_t>(rank * count / ranks); };
  std::ptrdiff_t all = 0;
  for (const auto& processors : nodes) all += std::ssize(processors);
  if (2 * ranks * threads <= all) return {};
  int sharers = 0;
  for (int rank = 0; rank < ranks; ++rank) sharers += node_of(rank) == node_of(place);
  const std::vector<int>& own = nodes[node_of(place)];
  return std::ssize(own) >= sharers * threads ? own : std::vector<int>{};
}

OnProcessors::OnProcessors(std::span<const int> processors) {
  if (processors.empty() || sched_getaffinity(0, sizeof before_, &before_) != 0) return;
  cpu_set_t wanted;
  CPU_ZERO(&wanted);
  for (const int cpu : processors) CPU_SET(static_cast<std::size_t>(cpu), &wanted);
  is_bound_ = sched_setaffinity(0, sizeof wanted, &wanted) == 0;
}

OnProcessors::~OnProcessors() {
  if (is_bound_) sched_setaffinity(0, sizeof before_, &before_);
}

}  // namespace foreshard::executor
