#include "models/plan/plan_value.hpp"

#include <charconv>

#include "models/base/figures.hpp"

namespace foreshard {
namespace {

// The shortest decimal that reads back as the same number, always with the looks of a float.
std::string decimal(double value) {
  char digits[32];
  std::string text(digits, std::to_chars(digits, digits + sizeof digits, value).ptr);
  return text.find_first_of(".en") == std::string::npos ? text + ".0" : text;
}

std::string in_quotes(std::string_view value) {
  std::string text = "\"";
  for (const char c : value) {
    const auto code = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') text += '\\';
    text += code < 0x20 || code == 0x7f ? "\\u" + hexadecimal(code, 4) : std::string(1, c);
  }
  return text + '"';
}

}  // namespace

std::string joined(const std::vector<std::string>& parts) {
  std::string text;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (i > 0) text += i + 1 == parts.size() ? " or " : ", ";
    text += parts[i];
  }
  return text;
}

std::string spelt(const PlanValue& value) {
  if (const auto* flag = std::get_if<bool>(&value)) return *flag ? "true" : "false";
  if (const auto* integer = std::get_if<std::int64_t>(&value)) return std::to_string(*integer);
  if (const auto* number = std::get_if<double>(&value)) return decimal(*number);
  if (const auto* text = std::get_if<std::string>(&value)) return in_quotes(*text);
  const auto* list = std::get_if<PlanList>(&value);
  if (list == nullptr) return "";
  std::string text = "[";
  for (const PlanValue& item : *list) text += (text.size() > 1 ? ", " : "") + spelt(item);
  return text + "]";
}

std::string AllowedValues::text_of_all() const {
  std::vector<std::string> parts;
  for (const std::string_view word : words) parts.push_back(in_quotes(word));
  if (list == List::choices) return "a list of " + joined(parts);
  if (list == List::names) return "a list of names or globs in quotes";
  if (list == List::groups) return "a list of globs, or of lists of globs that share a unit";
  if (flags) parts.insert(parts.end(), {"true", "false"});
  if (integers) {
    parts.push_back("an integer from " + std::to_string(integers->least) + " to " +
                    std::to_string(integers->most));
  }
  if (numbers) {
    parts.push_back(formatted("a number %s %g to %s%g", numbers->least_excluded ? "above" : "from",
                              numbers->least, numbers->most_excluded ? "below " : "",
                              numbers->most));
  }
  if (!text.empty()) parts.push_back(text);
  return (list == List::pair ? "a list of two numbers, each " : "") + joined(parts);
}

}  // namespace foreshard
