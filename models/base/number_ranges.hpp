// Numbers in words, such as those of ranks, steps and layers.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace foreshard {

// "0 to 3", "8", "10 to 30 by 2": the same numbers in order.
std::vector<std::string> number_ranges(std::vector<std::int64_t> numbers);

}  // namespace foreshard
