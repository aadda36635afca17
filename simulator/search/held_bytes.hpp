// What a program holds, from one look at its allocations, and what its rank then reserves at least: a walk of
// the allocator would say how much exactly, at twenty times the cost.
#pragma once

#include <cstdint>
#include <optional>

#include "models/allocator/allocator_rules.hpp"
#include "models/program/step_program.hpp"

namespace foreshard::simulator {

// What a request takes at least, whatever the allocator's settings; 0 of what is not on the device.
inline std::int64_t least_block(const Buffer& buffer) {
  if (buffer.on_host || buffer.bytes <= 0) return 0;
  return round_up(buffer.bytes, AllocatorRules::kMinBlock);
}

// Bytes that a rank of this program asks for, in blocks of the least size.
struct HeldBytes {
  std::int64_t at_once = 0;  // held at the peak
  // Held at the peaks of each of the allocator's pools, whenever these are: no pool lends to another one. 0
  // where the program itself gives memory back.
  std::int64_t by_pool = 0;
  std::int64_t largest = 0;  // request
};
HeldBytes held_bytes(const RankProgram& program);

// What such a rank reserves at least: what its pools hold, as long as none gives segments back, which they
// do when a request finds no memory. `capacity`: the allocator's; nothing: unlimited.
std::int64_t least_reserved(const HeldBytes& held, const AllocatorRules& rules,
                            std::optional<std::int64_t> capacity);

}  // namespace foreshard::simulator
