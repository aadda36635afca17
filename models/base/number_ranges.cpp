#include "models/base/number_ranges.hpp"

#include <algorithm>

namespace foreshard {

std::vector<std::string> number_ranges(std::vector<std::int64_t> numbers) {
  std::sort(numbers.begin(), numbers.end());
  numbers.erase(std::unique(numbers.begin(), numbers.end()), numbers.end());
  std::vector<std::string> texts;
  for (std::size_t i = 0; i < numbers.size();) {
    const std::int64_t stride = i + 1 < numbers.size() ? numbers[i + 1] - numbers[i] : 0;
    std::size_t j = i;
    while (j + 1 < numbers.size() && numbers[j + 1] - numbers[j] == stride) ++j;
    if (stride > 1 && j < i + 2) j = i;  // two numbers make no rule
    std::string text = std::to_string(numbers[i]);
    if (j > i) text += " to " + std::to_string(numbers[j]);
    if (j > i && stride > 1) text += " by " + std::to_string(stride);
    texts.push_back(std::move(text));
    i = j + 1;
  }
  return texts;
}

}  // namespace foreshard
