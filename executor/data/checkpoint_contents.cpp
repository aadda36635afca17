#include "executor/data/checkpoint_contents.hpp"

#include <algorithm>
#include <utility>

namespace foreshard::executor {

bool cover_once(std::vector<Region> regions, std::int64_t rows, std::int64_t columns) {
  std::int64_t all = 0;
  if (__builtin_mul_overflow(rows, columns, &all)) return false;
  for (const Region& region : regions) {
    if (region.first_row + region.rows > rows || region.first_column + region.columns > columns) {
      return false;
    }
  }
  std::erase_if(regions, [](const Region& region) { return region.elements() == 0; });
  std::ranges::sort(regions, {}, [](const Region& region) {
    return std::pair(region.first_row, region.first_column);
  });
  std::int64_t elements = 0;
  for (std::size_t a = 0; a < regions.size(); ++a) {
    const Region& region = regions[a];
    elements += region.elements();
    for (std::size_t b = a + 1; b < regions.size(); ++b) {
      if (regions[b].first_row >= region.first_row + region.rows) break;
      if (intersection(region, regions[b]).elements() > 0) return false;
    }
  }
  return elements == all;
}

}  // namespace foreshard::executor
