#include "models/plan/plan_screen.hpp"

namespace foreshard {
namespace {

constexpr int kMaxDots = 64;  // of one line, outside quotes
constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

bool is_ascii(char c) {
  return static_cast<unsigned char>(c) < 0x80;
}

}  // namespace

Result<std::string> screened_plan(std::string_view text, const std::string& file) {
  if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
  std::string screened(text);
  enum class Inside { nothing, comment, basic_string, literal_string } inside = Inside::nothing;
  int line = 1, dots = 0;
  const auto error = [&](const std::string& message) {
    return fail(file + ":" + std::to_string(line), "", message);
  };
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    const bool is_quote = c == '"' || c == '\'';
    if (c == '\n') {
      inside = Inside::nothing;
      dots = 0;
      ++line;
    } else if (inside == Inside::comment) {
      if (!is_ascii(c)) screened[i] = '?';
    } else if (!is_ascii(c)) {
      return error("has a letter beyond ASCII; expected such letters in comments only");
    } else if (inside == Inside::basic_string) {
      const bool escapes_next = c == '\\' && i + 1 < text.size() && is_ascii(text[i + 1]);
      if (escapes_next && text[i + 1] != '\n') ++i;
      if (c == '"') inside = Inside::nothing;
    } else if (inside == Inside::literal_string) {
      if (c == '\'') inside = Inside::nothing;
    } else if (is_quote && text.substr(i, 3) == std::string(3, c)) {
      return error("has a string over several lines; expected strings within a line");
    } else if (is_quote) {
      inside = c == '"' ? Inside::basic_string : Inside::literal_string;
    } else if (c == '#') {
      inside = Inside::comment;
    } else if (c == '.' && ++dots > kMaxDots) {
      return error("has a name of absurd length; expected a plan in TOML");
    }
  }
  return screened;
}

}  // namespace foreshard
