#include "traces/event_list.hpp"

#include <bit>
#include <initializer_list>

namespace foreshard::traces {
namespace {

std::size_t hash_of(std::initializer_list<std::int64_t> numbers) {
  std::uint64_t hash = 0;
  for (const std::int64_t number : numbers) {
    hash = (hash ^ static_cast<std::uint64_t>(number)) * 0x9E3779B97F4A7C15u;
    hash ^= hash >> 29;
  }
  return static_cast<std::size_t>(hash);
}

}  // namespace

std::size_t EventLayout::Hash::operator()(const Event& e) const {
  return hash_of({e.end_ns, e.lane, static_cast<std::int64_t>(e.kind), e.micro_step, e.name,
                  e.phase, e.unit, e.stable_key, e.cost_key, e.instruction, e.bytes,
                  static_cast<std::int64_t>(e.cost_source),
                  std::bit_cast<std::int32_t>(e.cost_error), e.group});
}

std::size_t MemoryEventLayout::Hash::operator()(const MemoryEvent& e) const {
  return hash_of({e.rank, static_cast<std::int64_t>(e.action), e.on_host, e.bytes, e.requested,
                  e.lane, e.category, e.owner, e.phase, e.instruction, e.stack});
}

}  // namespace foreshard::traces
