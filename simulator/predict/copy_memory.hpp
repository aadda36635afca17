// When the copies of a repetition only repeat each other in memory, so that the rest need no walk.
//
// What a copy asks of the allocator, and what it is answered, follows from the program and from what it
// finds: the cached blocks, where the blocks are that earlier copies left in use, and no segment taken or
// given back in between. Hence, where a copy finds what the one `n` copies before it found, all from there
// on do again what those n did, whatever their addresses, and none reaches higher. Mostly n is 1. Two
// batches that outlive their micro-step go round three blocks.
//
// The allocator's pools know nothing of each other as long as no segment is given back. Hence a pool in
// which a copy finds what the copy before it found needs no walk any more, whatever the others do.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "models/allocator/allocator_types.hpp"
#include "models/program/step_program.hpp"

namespace foreshard::simulator {

// A block in use at one of the places that copies change: of a buffer that they share, or of one that the
// copy before made, counted from its first.
struct HeldBlock {
  BufferId place = kNone;
  Address address = 0;
  std::int64_t bytes = 0;
  std::int32_t pool = 0;  // as CachedBlock counts them
  bool operator==(const HeldBlock&) const = default;
};

// What a copy finds. All other blocks in use are the same for each copy.
struct CopyMemory {
  std::vector<CachedBlock> cache;  // by pool
  std::vector<HeldBlock> held;     // likewise
  std::int64_t segments_taken = 0, segments_released = 0;
  std::int64_t host = 0;  // bytes in use there
  bool operator==(const CopyMemory&) const = default;
};

// By pool, of so many: whether both found the same there.
inline std::vector<bool> pools_alike(const CopyMemory& a, const CopyMemory& b, std::size_t pools) {
  std::vector<bool> alike(pools, true);
  const auto compare = [&alike](const auto& first, const auto& second) {
    auto one = first.begin(), other = second.begin();
    while (one != first.end() || other != second.end()) {
      const bool is_first =
          other == second.end() || (one != first.end() && one->pool <= other->pool);
      const std::int32_t pool = is_first ? one->pool : other->pool;
      const auto ends = [pool](const auto& block) { return block.pool != pool; };
      const auto one_end = std::find_if(one, first.end(), ends);
      const auto other_end = std::find_if(other, second.end(), ends);
      if (!std::equal(one, one_end, other, other_end))
        alike[static_cast<std::size_t>(pool)] = false;
      one = one_end;
      other = other_end;
    }
  };
  compare(a.cache, b.cache);
  compare(a.held, b.held);
  return alike;
}

// What the last few copies found.
class FoundMemories {
 public:
  void forget() { found_.clear(); }
  // What the last one found; nullptr: none did.
  const CopyMemory* last() const { return found_.empty() ? nullptr : &found_.back(); }

  // How many copies ago one found what the next one finds; 0: none of the last few did.
  std::int32_t period(CopyMemory now) {
    const auto same = std::find(found_.rbegin(), found_.rend(), now);
    const auto copies = same == found_.rend() ? 0 : same - found_.rbegin() + 1;
    found_.push_back(std::move(now));
    if (found_.size() > kLongest) found_.erase(found_.begin());
    return static_cast<std::int32_t>(copies);
  }

 private:
  static constexpr std::size_t kLongest = 4;

  std::vector<CopyMemory> found_;
};

}  // namespace foreshard::simulator
