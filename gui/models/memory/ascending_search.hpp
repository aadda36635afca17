// Searches ascending values by strides that double, so that what lies near is found among what lies
// near.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace foreshard::gui {

// The first from `from` on that is not below a limit; the size where there is none. `from` is not
// after it.
inline std::size_t first_not_below(const std::vector<std::int64_t>& values, std::int64_t limit,
                                   std::size_t from) {
  std::size_t stride = 1;
  while (from + stride < values.size() && values[from + stride] < limit) {
    from += stride;
    stride *= 2;
  }
  const auto begin = values.begin() + static_cast<std::ptrdiff_t>(from);
  const auto end =
      values.begin() + static_cast<std::ptrdiff_t>(std::min(from + stride, values.size()));
  return static_cast<std::size_t>(std::lower_bound(begin, end, limit) - values.begin());
}

}  // namespace foreshard::gui
