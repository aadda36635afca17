#include "simulator/costs/communicator_memory.hpp"

#include <algorithm>
#include <map>
#include <tuple>

#include "simulator/costs/cost_model.hpp"

namespace foreshard::simulator {

std::int64_t communicator_bytes(const NcclSystem& system, std::int64_t ranks, std::int64_t nodes,
                                bool reduces_all) {
  if (ranks <= 1) return 0;
  constexpr std::int64_t kConnection = 12 * kMiB.count, kSwitches = 16 * 2 * 8 * kMiB.count;
  // Every ring that the search finds is run twice, on Blackwell once (at most 16 channels there).
  const double doubled = system.generation == GpuGeneration::blackwell ? 1 : 2;
  const auto channels = static_cast<std::int64_t>(doubled * system.channels);
  const bool has_switches = system.has_nvls && nodes <= 1 && ranks > 2;
  return channels * kConnection * (reduces_all ? 2 : 1) + (has_switches ? kSwitches : 0);
}

std::int64_t bytes_outside_allocator(const NcclSystem& system, const RankProgram& program,
                                     int ranks_per_node) {
  struct Use {
    const RankPlace::Membership* group;
    bool reduces_all = false;
  };
  std::map<std::tuple<int, int, int>, Use> communicators;  // first rank, stride, ranks
  for (const Program& step : program.programs) {
    for (const Instruction& i : step.instructions) {
      if (i.kind != Kind::collective) continue;
      const auto& group = program.place[i.group];
      Use& use = communicators[{group.first_rank, group.stride, group.size}];
      use.group = &group;
      const Operator op = program.cost_keys[static_cast<std::size_t>(i.cost_key)].op;
      use.reduces_all = use.reduces_all || op == Operator::all_reduce;
    }
  }
  std::int64_t bytes = kContextBytes;
  for (const auto& [ranks, use] : communicators) {
    bytes += communicator_bytes(system, use.group->size, nodes_of(*use.group, ranks_per_node),
                                use.reduces_all);
  }
  return bytes;
}

}  // namespace foreshard::simulator
