#include "simulator/costs/outside_memory.hpp"

#include <algorithm>
#include <map>
#include <tuple>
#include <vector>

#include "simulator/costs/cost_model.hpp"

namespace foreshard::simulator {
namespace {

constexpr std::int64_t kMeasuredContext = 648'871'936;
constexpr std::int64_t kMeasuredLibraries = 84 * kMiB.count;
constexpr std::int64_t kCommunicator = 390 * kMiB.count, kNcclKernels = 172 * kMiB.count;

struct Communicator {
  const RankPlace::Membership* group = nullptr;
  bool reduces_all = false;
};

std::vector<Communicator> communicators(const RankProgram& program, const ProgramCosts& counted) {
  std::map<std::tuple<int, int, int>, Communicator> found;  // by first rank, stride, ranks
  const std::size_t places = cost_places(program.place);
  for (const std::vector<std::int64_t>& counts : counted.counts) {
    for (std::size_t at = 0; at < counts.size(); ++at) {
      const std::size_t place = at % places;
      if (counts[at] == 0 || place < kFirstGroupPlace) continue;
      const auto& group = program.place.groups[place - kFirstGroupPlace];
      Communicator& use = found[{group.first_rank, group.stride, group.size}];
      use.group = &group;
      use.reduces_all |= program.cost_keys[at / places].op == Operator::all_reduce;
    }
  }
  std::vector<Communicator> all;
  for (const auto& [ranks, communicator] : found) all.push_back(communicator);
  return all;
}

}  // namespace

Connections connections(const NcclSystem& system, std::int64_t ranks, std::int64_t nodes,
                        bool reduces_all) {
  if (ranks <= 1) return {};
  constexpr std::int64_t kConnection = 12 * kMiB.count, kSwitches = 16 * 2 * 8 * kMiB.count;
  const std::int64_t rings = most_channels(system, Algorithm::ring) * kConnection;
  const bool has_switches = system.has_nvls && nodes <= 1 && ranks > 2;
  return {rings, reduces_all ? rings : 0, has_switches ? kSwitches : 0};
}

OutsideMemory outside_memory(const NcclSystem& system, const RankProgram& program,
                             const ProgramCosts& counted, int ranks_per_node) {
  OutsideMemory outside;
  outside.context = kMeasuredContext;
  outside.libraries = program.device.kind == DeviceKind::cuda ? kMeasuredLibraries : 0;
  const std::int64_t local = outside.context + outside.libraries;
  outside.low = local - local / 4;
  outside.high = local + local / 4;
  const auto all = communicators(program, counted);
  if (all.empty()) return outside;
  outside.nccl = kNcclKernels;
  outside.low += kNcclKernels;
  for (const Communicator& c : all) {
    const Connections own =
        connections(system, c.group->size, nodes_of(*c.group, ranks_per_node), c.reduces_all);
    outside.nccl += kCommunicator + own.rings + own.trees + own.switches;
    outside.low += own.rings;
  }
  outside.high += outside.nccl + kCommunicator;
  return outside;
}

}  // namespace foreshard::simulator
