#include "models/plan/plan_toml.hpp"

#include <algorithm>
#include <charconv>
#include <utility>
#include <vector>

#include "models/base/nearest_names.hpp"
#include "models/plan/plan_screen.hpp"

namespace foreshard {
namespace {

// What to try instead of an unknown name: the section that has the key, or else the names that are
// nearest; all of them where none is near.
std::string advice(std::string_view section, const std::string& name) {
  std::vector<std::string> here;
  for (const PlanKey& key : plan_keys()) {
    if (key.section() == section) here.emplace_back(key.short_name());
    if (key.short_name() == name && key.section() != section) {
      return "; expected in " + (key.section().empty() ? "the top of the file"
                                                       : "[" + std::string(key.section()) + "]");
    }
  }
  if (section.empty()) {
    for (const PlanSection& known : plan_sections()) {
      if (!known.name.empty()) here.emplace_back(known.name);
    }
  }
  const auto near = nearest_names(name, here);
  if (near.empty()) return "; expected " + joined(here);
  return "; expected " +
         (section.empty() ? "one that `foreshard plan --defaults` prints"
                          : "a key of [" + std::string(section) + "]") +
         did_you_mean(near);
}

// Nothing for what no key holds: a date, a section.
std::optional<PlanValue> value_of(const toml::node& node) {
  if (const auto* flag = node.as_boolean()) return flag->get();
  if (const auto* integer = node.as_integer()) return integer->get();
  if (const auto* number = node.as_floating_point()) return number->get();
  if (const auto* text = node.as_string()) return text->get();
  if (!node.is_array()) return std::nullopt;
  PlanList list;
  for (const toml::node& item : *node.as_array()) {
    std::optional<PlanValue> value = value_of(item);
    if (!value) return std::nullopt;
    list.push_back(std::move(*value));
  }
  return list;
}

// Of the words that a key may have, the one that a wrong word, or the first wrong one of a list, is near.
std::string meant_word(const PlanValue& value, const AllowedValues& allowed) {
  if (const auto* list = std::get_if<PlanList>(&value)) {
    std::string word;
    for (const PlanValue& item : *list) {
      if (word.empty()) word = meant_word(item, allowed);
    }
    return word;
  }
  const auto* text = std::get_if<std::string>(&value);
  constexpr std::size_t kLongest = 63;
  const bool is_known =
      text == nullptr || text->empty() || text->size() > kLongest ||
      std::find(allowed.words.begin(), allowed.words.end(), *text) != allowed.words.end();
  return is_known ? "" : nearest(*text, allowed.words);
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
  for (const auto& [name, node] : root) {
    if (const PlanKey* key = find_plan_key(name.str()); key && key->section().empty()) continue;
    const bool is_section = std::any_of(
        plan_sections().begin(), plan_sections().end(),
        [&key = name](const auto& section) {
          return section.name == key.str() && !section.name.empty();
        });
    if (!is_section) {
      return Error{with_line(file, name.source()), std::string(name.str()),
                   std::string("is not a ") + (node.is_table() ? "section" : "key") + " of a plan" +
                       advice("", std::string(name.str()))};
    }
    const toml::table* table = node.as_table();
    if (table == nullptr) {
      return Error{with_line(file, node.source()), std::string(name.str()),
                   "is " + shown(node) + "; expected a section, [" + std::string(name.str()) + "]"};
    }
    for (const auto& [inner, value] : *table) {
      const std::string whole = dotted(name.str(), inner.str());
      if (find_plan_key(whole) != nullptr) continue;
      return Error{with_line(file, inner.source()), whole,
                   "is not a key of a plan" + advice(name.str(), std::string(inner.str()))};
    }
  }
  return std::nullopt;
}

Result<void> set_from(const toml::node& node, const PlanKey& key, const std::string& file,
                      Plan& plan) {
  const std::optional<PlanValue> value = value_of(node);
  if (value && key.set_in(plan, *value)) return {};
  const std::string meant = value ? meant_word(*value, key.field.allowed) : "";
  return fail(with_line(file, node.source()), std::string(key.name()),
              "is " + shown(node) + "; " +
                  (meant.empty() ? "" : "did you mean \"" + meant + "\"? ") + "expected " +
                  key.field.allowed.text_of_all());
}

}  // namespace foreshard
