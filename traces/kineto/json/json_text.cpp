#include "traces/kineto/json/json_text.hpp"

#include <algorithm>
#include <array>
#include <cstring>

namespace foreshard::traces::kineto {
namespace {

bool is_space(char c) {
  return c == ' ' || c == '\n' || c == '\r' || c == '\t';
}

std::size_t find(std::string_view text, char c, std::size_t at) {
  const void* found =
      at < text.size() ? std::memchr(text.data() + at, c, text.size() - at) : nullptr;
  return found == nullptr ? kNotThere
                          : static_cast<std::size_t>(static_cast<const char*>(found) - text.data());
}

// Behind the string whose opening quote stands at `at`.
std::size_t string_end(std::string_view text, std::size_t at) {
  for (std::size_t quote = find(text, '"', at + 1); quote != kNotThere;
       quote = find(text, '"', quote + 1)) {
    std::size_t backslashes = 0;
    while (text[quote - 1 - backslashes] == '\\') ++backslashes;
    if (backslashes % 2 == 0) return quote + 1;
  }
  return kNotThere;
}

}  // namespace

std::size_t skip_space(std::string_view text, std::size_t at) {
  while (at < text.size() && is_space(text[at])) ++at;
  return at;
}

std::size_t value_end(std::string_view text, std::size_t at, std::size_t limit) {
  text = text.substr(0, limit);
  if (at >= text.size()) return kNotThere;
  std::size_t depth = 0;
  do {
    switch (text[at]) {
      case '"':
        at = string_end(text, at);
        if (at == kNotThere) return kNotThere;
        break;
      case '{':
      case '[':
        ++depth;
        ++at;
        break;
      case '}':
      case ']':
        if (depth == 0) return at;  // the end of a bare word
        --depth;
        ++at;
        break;
      case ',':
        if (depth == 0) return at;
        ++at;
        break;
      default:
        if (depth == 0 && is_space(text[at])) return at;
        ++at;
        if (depth == 0) continue;
    }
    if (depth == 0) return at;
  } while (at < text.size());
  return kNotThere;
}

std::size_t next_event(std::string_view text, std::size_t at) {
  static constexpr std::array<std::string_view, 10> kKeys{
      "ph\"", "name\"", "cat\"", "ts\"", "pid\"", "tid\"", "args\"", "dur\"", "id\"", "s\""};
  for (std::size_t brace = find(text, '{', at); brace != kNotThere;
       brace = find(text, '{', brace + 1)) {
    const std::size_t quote = skip_space(text, brace + 1);
    if (quote >= text.size() || text[quote] != '"') continue;
    const std::string_view key = text.substr(quote + 1);
    if (std::none_of(kKeys.begin(), kKeys.end(),
                     [&](std::string_view word) { return key.starts_with(word); })) {
      continue;
    }
    std::size_t before = brace;
    while (before > 0 && is_space(text[before - 1])) --before;
    if (before == 0 || text[before - 1] != ':') return brace;
  }
  return kNotThere;
}

std::size_t last_boundary(std::string_view text) {
  for (std::size_t brace = text.rfind('{'); brace != kNotThere && brace > 0;
       brace = text.rfind('{', brace - 1)) {
    const std::size_t quote = skip_space(text, brace + 1);
    if (quote >= text.size() || text[quote] != '"') continue;
    std::size_t before = brace;
    while (before > 0 && is_space(text[before - 1])) --before;
    if (before == 0 || text[before - 1] != ',') continue;
    --before;
    while (before > 0 && is_space(text[before - 1])) --before;
    if (before > 0 && text[before - 1] == '}') return before;
  }
  return kNotThere;
}

}  // namespace foreshard::traces::kineto
