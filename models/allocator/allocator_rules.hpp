// The arithmetic of PyTorch's caching allocator: how a request is rounded, which of the two pools
// serves it, how large a new segment is, and when a block is split. All sizes are bytes.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <optional>

#include "models/base/units.hpp"
#include "models/plan/plan.hpp"

namespace foreshard {

struct AllocatorRules {
  static constexpr std::int64_t kMinBlock = 512;   // every block is a multiple of it
  static constexpr std::int64_t kSmall = 1 << 20;  // largest request of the small pool
  static constexpr std::int64_t kSmallSegment = 2 << 20;
  static constexpr std::int64_t kLargeSegment = 20 << 20;
  static constexpr std::int64_t kMinExactSegment = 10 << 20;  // from here on a segment of its own
  static constexpr std::int64_t kSegmentStep = 2 << 20;
  static constexpr std::int64_t kMaxRequest = std::int64_t{1} << 60;  // larger ones always fail
  static constexpr std::int64_t kUnlimited = std::numeric_limits<std::int64_t>::max();

  std::int64_t max_split_size = kUnlimited;
  std::int64_t max_non_split_rounding = 20 << 20;  // slack of a block above max_split_size
  double garbage_collection_threshold = 0.0;       // of memory_fraction, below 1 alone
  double memory_fraction = 1.0;                    // of the device; 1: no limit
  bool expandable_segments = false;
  // Of free blocks of one size the one in the oldest segment is taken, not that of the lowest address.
  bool oldest_segment_first = false;

  AllocatorRules() = default;
  AllocatorRules(const AllocatorSettings& settings);  // NOLINT(google-explicit-constructor)

  bool operator==(const AllocatorRules&) const = default;

  // The size of the block that serves a request of n > 0 bytes.
  std::int64_t round_size(std::int64_t n) const {
    const std::int64_t divisions = rounds_to_divisions_ ? divisions_of(n) : 0;
    if (divisions > 1 && n > kMinBlock * divisions) return round_to_division(n, divisions);
    return n < kMinBlock ? kMinBlock : round_up(n, kMinBlock);
  }

  static bool is_small(std::int64_t rounded) { return rounded <= kSmall; }

  // Bytes of a new ordinary segment for a rounded request.
  static std::int64_t segment_size(std::int64_t rounded) {
    if (rounded <= kSmall) return kSmallSegment;
    if (rounded < kMinExactSegment) return kLargeSegment;
    return round_up(rounded, kSegmentStep);
  }

  // Memory of an expandable segment is mapped in these units.
  static std::int64_t granule(bool small) { return small ? kSmallSegment : kLargeSegment; }

  // Whether a block that exceeds a rounded request by `remaining` is cut; `exactly` for small
  // requests and where segments are expandable.
  bool splits(std::int64_t rounded, std::int64_t remaining, bool exactly) const {
    if (exactly) return remaining >= kMinBlock;
    return rounded < max_split_size && remaining > kSmall;
  }

  // Whether a cached block may serve the rounded request. Blocks above max_split_size are kept for
  // requests above it, and only with limited slack.
  bool may_serve(std::int64_t rounded, std::int64_t block) const {
    if (max_split_size == kUnlimited) return true;
    if (rounded < max_split_size) return block < max_split_size;
    return block < rounded + max_non_split_rounding;
  }

  // Entry i holds for requests from 2^i MiB up to the next; entry 0 for smaller ones as well and
  // entry 15 for larger ones as well. 0 and 1: no power-of-two rounding.
  using Divisions = std::array<std::int64_t, 16>;
  void round_to_power2_divisions(const Divisions& divisions);
  const Divisions& power2_divisions() const { return divisions_; }

 private:
  std::int64_t divisions_of(std::int64_t n) const;
  static std::int64_t round_to_division(std::int64_t n, std::int64_t divisions);

  Divisions divisions_{};
  bool rounds_to_divisions_ = false;
};

// The settings of a plan, under operators that describe PyTorch with what differs in its version.
AllocatorRules allocator_rules(const Plan& plan);

// What set_per_process_memory_fraction allows of a device of `capacity` bytes, and what garbage collection
// counts from; nothing where the device alone sets limits.
std::optional<std::int64_t> memory_limit(const AllocatorRules& rules,
                                         std::optional<std::int64_t> capacity);

}  // namespace foreshard
