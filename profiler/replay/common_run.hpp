// The longest run that two sequences have in common, such as the requests of a recording that begins
// in the middle of a run and those of a whole one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace foreshard::profiler {

struct CommonRun {
  std::size_t a = 0, b = 0;  // where it begins
  std::size_t length = 0;
};

// Of several longest ones the first in `b`, and for it the first in `a`.
CommonRun longest_common_run(std::span<const std::uint64_t> a, std::span<const std::uint64_t> b);

}  // namespace foreshard::profiler
