#include "simulator/search/held_bytes.hpp"

#include <algorithm>
#include <cstdlib>
#include <utility>
#include <vector>

namespace foreshard::simulator {

HeldBytes held_bytes(const RankProgram& program) {
  struct Pool {
    std::int64_t held = 0, most = 0;
  };
  const auto pool_of = [](const Buffer& buffer, std::int64_t bytes) {
    return 2 * static_cast<std::size_t>(buffer.pool) + (AllocatorRules::is_small(bytes) ? 1 : 0);
  };
  std::vector<Pool> pools(2 * program.streams.size());
  std::vector<std::int64_t> bytes(program.buffers.size());  // of those that are held
  std::int64_t held = 0;
  HeldBytes most;
  bool gives_back = program.device.kind == DeviceKind::xla;  // which keeps nothing in reserve
  for (const Program& step : program.programs) {
    for (const Instruction& i : step.instructions) {
      gives_back |= i.kind == Kind::empty_cache;
      if (i.kind != Kind::alloc && i.kind != Kind::free) continue;
      const auto b = static_cast<std::size_t>(i.target);
      const Buffer& buffer = program.buffers[b];
      const std::int64_t block = i.kind == Kind::alloc ? least_block(buffer) : -bytes[b];
      bytes[b] = std::max<std::int64_t>(0, block);
      held += block;
      Pool& pool = pools[pool_of(buffer, std::abs(block))];
      pool.held += block;
      pool.most = std::max(pool.most, pool.held);
      most.at_once = std::max(most.at_once, held);
      most.largest = std::max(most.largest, block);
    }
    for (const auto& [made, left] : program.carried) {
      const std::int64_t carried = std::exchange(bytes[static_cast<std::size_t>(made)], 0);
      if (carried > 0) bytes[static_cast<std::size_t>(left)] = carried;
    }
  }
  for (const Pool& pool : pools) most.by_pool += gives_back ? 0 : pool.most;
  return most;
}

std::int64_t least_reserved(const HeldBytes& held, const AllocatorRules& rules,
                            std::optional<std::int64_t> capacity) {
  if (rules.garbage_collection_threshold > 0) return held.at_once;
  std::int64_t by_pool = held.by_pool;
  if (capacity) {
    const std::int64_t limit = memory_limit(rules, capacity).value_or(*capacity);
    const std::int64_t segment = 2 * held.largest + AllocatorRules::kLargeSegment;  // at most
    by_pool = std::min(by_pool, limit - segment);
  }
  return std::max(held.at_once, by_pool);
}

}  // namespace foreshard::simulator
