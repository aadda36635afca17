#include "models/base/error.hpp"

#include <algorithm>
#include <cstdint>
#include <vector>

#include "models/base/utf8.hpp"

namespace foreshard {
namespace {

// Whatever stands in a file or a flag, its message stays readable: a part that is longer is cut
// in its middle, since it ends with what was expected.
constexpr std::size_t kMaxOfAPart = 1000, kKeptAtEnd = 400;
// No name that is worth a suggestion is longer; the table below grows with the square of it.
constexpr std::size_t kLongestCompared = 64;

std::string shown(const std::string& part) {
  return printable(shortened(part, kMaxOfAPart, kKeptAtEnd), Lines::kept);
}

}  // namespace

std::string Error::text() const {
  std::string out;
  for (const std::string* part : {&file, &field}) {
    if (!part->empty()) out += shown(*part) + ": ";
  }
  return out + shown(message);
}

int edit_distance(const std::string& a, const std::string& b) {
  if (std::max(a.size(), b.size()) > kLongestCompared) {
    return static_cast<int>(std::min<std::size_t>(std::max(a.size(), b.size()), INT32_MAX));
  }
  const std::size_t rows = a.size() + 1, columns = b.size() + 1;
  std::vector<int> table(rows * columns);
  const auto at = [&](std::size_t i, std::size_t j) -> int& { return table[i * columns + j]; };
  for (std::size_t i = 0; i < rows; ++i) at(i, 0) = static_cast<int>(i);
  for (std::size_t j = 0; j < columns; ++j) at(0, j) = static_cast<int>(j);
  for (std::size_t i = 1; i < rows; ++i) {
    for (std::size_t j = 1; j < columns; ++j) {
      const int substitution = at(i - 1, j - 1) + (a[i - 1] == b[j - 1] ? 0 : 1);
      at(i, j) = std::min({at(i - 1, j) + 1, at(i, j - 1) + 1, substitution});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        at(i, j) = std::min(at(i, j), at(i - 2, j - 2) + 1);
      }
    }
  }
  return at(rows - 1, columns - 1);
}

}  // namespace foreshard
