#include "models/llama/module_paths.hpp"

#include <algorithm>
#include <charconv>
#include <system_error>

#include "models/llama/module_tree.hpp"

namespace foreshard {

namespace {

// The first part that is a number, and where it ends.
struct NumberedPart {
  std::int32_t number = kNone;
  std::size_t end = 0;
};

NumberedPart numbered_part(std::string_view path) {
  for (std::size_t begin = 0; begin < path.size();) {
    const std::size_t end = std::min(path.find('.', begin), path.size());
    std::int32_t number = 0;
    const auto [read, error] = std::from_chars(path.data() + begin, path.data() + end, number);
    if (error == std::errc() && read == path.data() + end) return {number, end};
    begin = end + 1;
  }
  return {kNone, path.size()};
}

}  // namespace

std::int32_t layer_in(std::string_view path) {
  return numbered_part(path).number;
}

std::string_view path_of_layer(std::string_view path) {
  return path.substr(0, numbered_part(path).end);
}

}  // namespace foreshard
