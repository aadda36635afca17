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
  enum class Inside { nothing, comment, string } inside = Inside::nothing;
  char quote = 0;            // of the string
  bool is_of_lines = false;  // three quotes, which may hold line ends
  int line = 1, dots = 0;
  const auto error = [&](const std::string& message) {
    return fail(file + ":" + std::to_string(line), "", message);
  };
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    const bool is_quote = c == '"' || c == '\'';
    const bool is_triple = is_quote && text.substr(i, 3) == std::string(3, c);
    if (c == '\n') {
      if (!(inside == Inside::string && is_of_lines)) inside = Inside::nothing;
      dots = 0;
      ++line;
    } else if (inside == Inside::comment) {
      if (!is_ascii(c)) screened[i] = '?';
    } else if (!is_ascii(c)) {
      return error("has a letter beyond ASCII; expected such letters in comments only");
    } else if (inside == Inside::string) {
      const bool escapes_next =
          quote == '"' && c == '\\' && i + 1 < text.size() && is_ascii(text[i + 1]);
      if (escapes_next && text[i + 1] != '\n') {
        ++i;
      } else if (c == quote && (!is_of_lines || is_triple)) {
        inside = Inside::nothing;
        if (is_of_lines) i += 2;
        // It may end with up to two quotes of its own.
        for (int n = 0; is_of_lines && n < 2 && text.substr(i + 1, 1) == std::string(1, quote);
             ++n) {
          ++i;
        }
      }
    } else if (is_quote) {
      inside = Inside::string;
      quote = c;
      is_of_lines = is_triple;
      if (is_triple) i += 2;
    } else if (c == '#') {
      inside = Inside::comment;
    } else if (c == '.' && ++dots > kMaxDots) {
      return error("has a name of absurd length; expected a plan in TOML");
    }
  }
  return screened;
}

}  // namespace foreshard
