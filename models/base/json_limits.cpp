#include "models/base/json_limits.hpp"

#include <algorithm>

namespace foreshard {
namespace {

// Parsers stop at the first byte of anything else. Some skip a byte order mark.
bool may_begin_a_value(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  return first != std::string_view::npos &&
         std::string_view("{[\"-0123456789tfn\xEF").find(text[first]) != std::string_view::npos;
}

}  // namespace

std::string json_excess(std::string_view json, int deepest, std::size_t most_values) {
  if (!may_begin_a_value(json)) return {};
  int depth = 0;
  std::size_t values = 1;
  bool in_string = false;
  for (std::size_t i = 0; i < json.size(); ++i) {
    const char c = json[i];
    if (in_string) {
      if (c == '\\') ++i;
      if (c == '"') in_string = false;
    } else if (c == '"') {
      in_string = true;
    } else if (c == ',') {
      ++values;
    } else if (c == '[' || c == '{') {
      ++values;
      if (++depth > deepest) return "nests deeper than " + std::to_string(deepest) + " levels";
    } else if (c == ']' || c == '}') {
      --depth;
    }
  }
  if (values <= most_values) return {};
  return "holds more than " + std::to_string(most_values) + " values";
}

std::string line_and_column(std::string_view text, std::size_t byte) {
  const std::string_view before = text.substr(0, std::max<std::size_t>(byte, 1) - 1);
  const std::size_t line_start = before.rfind('\n') + 1;  // 0 on the first line
  return "line " + std::to_string(std::count(before.begin(), before.end(), '\n') + 1) +
         ", column " + std::to_string(before.size() - line_start + 1);
}

}  // namespace foreshard
