#include <algorithm>
#include <charconv>
#include <utility>
#include <vector>

#include "models/base/nearest_names.hpp"
#include "models/plan/plan_keys.hpp"
#include "models/plan/plan_screen.hpp"
#include "models/plan/plan_toml.hpp"

namespace foreshard {
namespace {

using KeyList = std::vector<std::pair<std::string, std::string>>;  // section, name

const KeyList& known_keys() {
  static const KeyList keys = [] {
    KeyList list;
    Plan plan;
    visit_plan_keys(plan, [&](std::string_view section, std::string_view name, auto&&, auto&&) {
      list.emplace_back(section, name);
    });
    return list;
  }();
  return keys;
}

// What to try instead of an unknown name: the section that has the key, or else the names that are
// nearest; all of them where none is near.
std::string advice(const std::string& section, const std::string& name) {
  std::vector<std::string> here;
  for (const auto& [known_section, known_name] : known_keys()) {
    if (known_section == section) here.push_back(known_name);
    if (known_name == name && known_section != section) {
      return "; expected in " +
             (known_section.empty() ? "the top of the file" : "[" + known_section + "]");
    }
  }
  if (section.empty()) {
    for (const auto& [known_section, known_name] : known_keys()) {
      if (!known_section.empty()) here.push_back(known_section);
    }
  }
  here.erase(std::unique(here.begin(), here.end()), here.end());
  const auto near = nearest_names(name, here);
  if (near.empty()) return "; expected " + joined(here);
  return "; expected " +
         (section.empty() ? "one that `foreshard plan --defaults` prints"
                          : "a key of [" + section + "]") +
         did_you_mean(near);
}

}  // namespace

Result<toml::table> parse_screened(std::string_view text, const std::string& file,
                                   const std::string& expected) {
  const Result<std::string> screened = screened_plan(text, file);
  if (!screened) return tl::unexpected(screened.error());
  toml::parse_result parsed = toml::parse(*screened, file);
  if (!parsed) {
    const toml::parse_error& error = parsed.error();
    return fail(with_line(file, error.source()), "",
                std::string(error.description()) + "; expected " + expected);
  }
  return std::move(parsed).table();
}

std::string shown(const toml::node& node) {
  std::string text;
  if (const auto* string = node.as_string()) {
    text = '"' + string->get() + '"';
  } else if (const auto* integer = node.as_integer()) {
    text = std::to_string(integer->get());
  } else if (const auto* number = node.as_floating_point()) {
    char digits[32];
    text.assign(digits, std::to_chars(digits, digits + sizeof digits, number->get()).ptr);
  } else if (const auto* flag = node.as_boolean()) {
    text = flag->get() ? "true" : "false";
  } else {
    text = node.is_array() ? "a list" : node.is_table() ? "a section" : "a date";
  }
  if (text.size() > 60) text = text.substr(0, 57) + "...";
  return text;
}

std::optional<Error> unknown_name(const toml::table& root, const std::string& file) {
  const KeyList& known = known_keys();
  const auto is_section = [&](std::string_view name) {
    return std::any_of(known.begin(), known.end(),
                       [&](const auto& key) { return !name.empty() && key.first == name; });
  };
  const auto is_key = [&](std::string_view section, std::string_view name) {
    return std::any_of(known.begin(), known.end(),
                       [&](const auto& key) { return key.first == section && key.second == name; });
  };
  for (const auto& [key, node] : root) {
    const std::string name(key.str());
    if (is_section(name)) {
      const toml::table* table = node.as_table();
      if (table == nullptr) {
        return Error{with_line(file, node.source()), name,
                     "is " + shown(node) + "; expected a section, [" + name + "]"};
      }
      for (const auto& [inner, value] : *table) {
        if (is_key(name, inner.str())) continue;
        return Error{with_line(file, inner.source()), dotted(name, inner.str()),
                     "is not a key of a plan" + advice(name, std::string(inner.str()))};
      }
    } else if (!is_key("", name)) {
      return Error{with_line(file, key.source()), name,
                   std::string("is not a ") + (node.is_table() ? "section" : "key") + " of a plan" +
                       advice("", name)};
    }
  }
  return std::nullopt;
}

}  // namespace foreshard
