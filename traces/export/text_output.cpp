#include "traces/export/text_output.hpp"

#include "models/base/figures.hpp"
#include "models/base/utf8.hpp"

namespace foreshard::traces {

TextOutput& TextOutput::json(std::string_view text) {
  *this << "\"";
  while (!text.empty()) {
    const char c = text.front();
    const std::size_t length = utf8_sequence(text);
    if (c == '"' || c == '\\') {
      out_.put('\\').put(c);
    } else if (static_cast<unsigned char>(c) < 0x20) {
      *this << "\\u" << hexadecimal(static_cast<unsigned char>(c), 4);
    } else if (length == 0) {
      *this << kReplacement;
    } else {
      *this << text.substr(0, length);
    }
    text.remove_prefix(length == 0 ? 1 : length);
  }
  return *this << "\"";
}

TextOutput& TextOutput::exact_json(std::string_view text) {
  if (is_utf8(text)) return json(text);
  *this << "{\"bytes\":\"";
  for (const char c : text) *this << hexadecimal(static_cast<unsigned char>(c), 2);
  return *this << "\"}";
}

TextOutput& TextOutput::csv(std::string_view text) {
  const bool is_quoted = text.find_first_of(",\"\r\n") != std::string_view::npos;
  if (is_quoted) *this << "\"";
  while (!text.empty()) {
    const std::size_t length = utf8_sequence(text);
    if (text.front() == '"') out_.put('"');
    if (length == 0 || text.front() == '\0') {
      *this << kReplacement;
    } else {
      *this << text.substr(0, length);
    }
    text.remove_prefix(length == 0 ? 1 : length);
  }
  return is_quoted ? *this << "\"" : *this;
}

}  // namespace foreshard::traces
