// parse_toml_document: the library's tree, which screened_plan keeps small and shallow, copied into
// ours. Letters beyond ASCII, which the library must not see, stand in descriptions only.
#include <algorithm>

#include "models/plan/foreign/document.hpp"
#include "models/plan/plan_toml.hpp"

namespace foreshard::foreign {
namespace {

void copy(const toml::node& node, DocumentBuilder& builder) {
  const int line = static_cast<int>(node.source().begin.line);
  if (const toml::table* table = node.as_table()) {
    builder.begin_map(line);
    for (const auto& [key, value] : *table) {
      builder.key(std::string(key.str()), static_cast<int>(value.source().begin.line));
      copy(value, builder);
    }
    builder.end();
  } else if (const toml::array* array = node.as_array()) {
    builder.begin_list(line);
    for (const toml::node& item : *array) copy(item, builder);
    builder.end();
  } else if (const auto* string = node.as_string()) {
    builder.scalar(Value::of(string->get()), line);
  } else if (const auto* integer = node.as_integer()) {
    builder.scalar(Value::of(integer->get()), line);
  } else if (const auto* number = node.as_floating_point()) {
    builder.scalar(Value::of(number->get()), line);
  } else if (const auto* flag = node.as_boolean()) {
    builder.scalar(Value::of(flag->get()), line);
  } else {
    builder.scalar(Value::of(std::string("a date")), line);
  }
}

}  // namespace

Result<Value> parse_toml_document(std::string_view text, const std::string& file) {
  std::string ascii(text);
  std::replace_if(
      ascii.begin(), ascii.end(), [](char c) { return static_cast<unsigned char>(c) >= 0x80; },
      '?');
  const Result<toml::table> parsed = parse_screened(ascii, file, "a plan in TOML");
  if (!parsed) return tl::unexpected(parsed.error());
  DocumentBuilder builder;
  try {
    copy(*parsed, builder);
  } catch (const BadDocument& bad) {
    return fail(at_line(file, bad.line), "", std::string(bad.what()) + "; expected a plan in TOML");
  }
  return builder.take();
}

}  // namespace foreshard::foreign
