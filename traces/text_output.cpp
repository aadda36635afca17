#include "traces/text_output.hpp"

namespace foreshard::traces {
namespace {

// Length of the well-formed UTF-8 sequence at the start of `text`, 0 where there is none.
std::size_t sequence(std::string_view text) {
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

}  // namespace

TextOutput& TextOutput::json(std::string_view text) {
  constexpr const char* kHex = "0123456789abcdef";
  *this << "\"";
  while (!text.empty()) {
    const char c = text.front();
    const std::size_t length = sequence(text);
    if (c == '"' || c == '\\') {
      out_.put('\\').put(c);
    } else if (static_cast<unsigned char>(c) < 0x20) {
      *this << "\\u00";
      out_.put(kHex[c >> 4]).put(kHex[c & 15]);
    } else if (length == 0) {
      *this << "\xEF\xBF\xBD";
    } else {
      *this << text.substr(0, length);
    }
    text.remove_prefix(length == 0 ? 1 : length);
  }
  return *this << "\"";
}

bool is_utf8(std::string_view text) {
  while (!text.empty()) {
    const std::size_t length = sequence(text);
    if (length == 0) return false;
    text.remove_prefix(length);
  }
  return true;
}

TextOutput& TextOutput::exact_json(std::string_view text) {
  if (is_utf8(text)) return json(text);
  constexpr const char* kHex = "0123456789abcdef";
  *this << "{\"bytes\":\"";
  for (const char c : text) out_.put(kHex[(c >> 4) & 15]).put(kHex[c & 15]);
  return *this << "\"}";
}

TextOutput& TextOutput::csv(std::string_view text) {
  const bool is_quoted = text.find_first_of(",\"\r\n") != std::string_view::npos;
  if (is_quoted) *this << "\"";
  while (!text.empty()) {
    const std::size_t length = sequence(text);
    if (text.front() == '"') out_.put('"');
    if (length == 0 || text.front() == '\0') {
      *this << "\xEF\xBF\xBD";
    } else {
      *this << text.substr(0, length);
    }
    text.remove_prefix(length == 0 ? 1 : length);
  }
  return is_quoted ? *this << "\"" : *this;
}

}  // namespace foreshard::traces
