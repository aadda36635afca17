#include "models/base/utf8.hpp"

#include <algorithm>

namespace foreshard {
namespace {

constexpr std::size_t kMaxQuoted = 64, kLongestSequence = 4;

bool begins_character(char c) {
  return (static_cast<unsigned char>(c) & 0xC0) != 0x80;
}

// Of a well-formed sequence: U+0000 to U+001F and U+007F to U+009F.
bool is_control(std::string_view sequence) {
  const auto first = static_cast<unsigned char>(sequence[0]);
  if (sequence.size() == 1) return first < 0x20 || first == 0x7F;
  return first == 0xC2 && static_cast<unsigned char>(sequence[1]) < 0xA0;
}

}  // namespace

std::size_t utf8_sequence(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char lead = byte(0);
  if (lead < 0x80) return 1;
  const std::size_t length = lead >= 0xC2 && lead < 0xE0   ? 2
                             : lead >= 0xE0 && lead < 0xF0 ? 3
                             : lead >= 0xF0 && lead < 0xF5 ? 4
                                                           : 0;
  if (length == 0 || text.size() < length) return 0;
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xC0) != 0x80) return 0;
  }
  // Overlong forms, surrogates, and what lies beyond U+10FFFF.
  const unsigned char second = byte(1);
  if ((lead == 0xE0 && second < 0xA0) || (lead == 0xED && second >= 0xA0) ||
      (lead == 0xF0 && second < 0x90) || (lead == 0xF4 && second >= 0x90)) {
    return 0;
  }
  return length;
}

bool is_utf8(std::string_view text) {
  while (!text.empty()) {
    const std::size_t length = utf8_sequence(text);
    if (length == 0) return false;
    text.remove_prefix(length);
  }
  return true;
}

std::string printable(std::string_view text, Lines lines) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const std::size_t length = utf8_sequence(text);
    const std::string_view sequence = text.substr(0, std::max<std::size_t>(length, 1));
    const bool is_line = lines == Lines::kept && (sequence == "\n" || sequence == "\t");
    out += length > 0 && (is_line || !is_control(sequence)) ? sequence : kReplacement;
    text.remove_prefix(sequence.size());
  }
  return out;
}

std::string shortened(std::string_view text, std::size_t most, std::size_t kept_at_end) {
  if (text.size() <= most || most == 0) return std::string(text.substr(0, most));
  kept_at_end = std::min(kept_at_end, most - 1);
  // Only as far as is needed: the text may be of gigabytes.
  std::size_t first = 0, seen = 0;
  for (std::size_t count = 0; seen < text.size() && count <= most; ++count) {
    if (count == most - 1 - kept_at_end) first = seen;
    seen += std::max<std::size_t>(utf8_sequence(text.substr(seen)), 1);
    if (count < most && seen == text.size()) return std::string(text);
  }
  std::size_t last = text.size();
  for (std::size_t count = 0; last > first && count < kept_at_end; ++count) {
    const std::size_t end = last--;
    while (last > first && end - last < kLongestSequence && !begins_character(text[last])) --last;
  }
  return std::string(text.substr(0, first)) + "…" + std::string(text.substr(last));
}

std::string excerpt(std::string_view text) {
  return printable(shortened(text, kMaxQuoted));
}

}  // namespace foreshard
