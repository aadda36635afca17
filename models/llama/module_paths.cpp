#include "models/llama/module_paths.hpp"

#include <algorithm>
#include <charconv>
#include <system_error>

#include "models/llama/module_tree.hpp"

namespace foreshard {

std::int32_t layer_in(std::string_view path) {
  while (!path.empty()) {
    const std::string_view part = path.substr(0, path.find('.'));
    const char* const end = part.data() + part.size();
    std::int32_t number = 0;
    const auto [read, error] = std::from_chars(part.data(), end, number);
    if (error == std::errc() && read == end) return number;
    path.remove_prefix(std::min(path.size(), part.size() + 1));
  }
  return kNone;
}

}  // namespace foreshard
