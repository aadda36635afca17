// The largest figures that a recording may plausibly hold. What is beyond them is damage, and no
// reader keeps it: what one keeps, every other one must take, and sums of them stay far from the ends
// of 64 bits.
#pragma once

#include <cstdint>

namespace foreshard::traces {

// Bytes of one allocation, copy or message: 64 PiB, more than any machine has.
constexpr std::int64_t kMaxBytes = std::int64_t{1} << 56;
// Nanoseconds from the beginning of a trace, before or after it: half a year.
constexpr std::int64_t kLatestNs = std::int64_t{1} << 54;
// Ranks are numbered below it.
constexpr std::int64_t kMaxRanks = 10'000'000;
// Addresses, and whatever a history of an allocator counts in bytes.
constexpr std::int64_t kHighestAddress = std::int64_t{1} << 60;
// Sums of bytes: two of them can be added.
constexpr std::int64_t kMaxSum = std::int64_t{1} << 61;
// Relative errors of costs: a million times the cost.
constexpr double kMaxCostError = 1e6;

}  // namespace foreshard::traces
