// What the parts that read a plan from TOML share. Included by them only: toml++ stays in here.
#pragma once

#define TOML_EXCEPTIONS 0
#include <optional>
#include <string>
#include <string_view>

#include <toml++/toml.h>

#include "models/base/error.hpp"

namespace foreshard {

// "section.name", or the name of a key at the top.
inline std::string dotted(std::string_view section, std::string_view name) {
  return section.empty() ? std::string(name) : std::string(section) + '.' + std::string(name);
}

inline std::string with_line(const std::string& file, const toml::source_region& where) {
  return where.begin.line == 0 ? file : file + ':' + std::to_string(where.begin.line);
}

// What is screened (plan_screen.hpp) and parsed. `expected` ends the error about what is no TOML.
Result<toml::table> parse_screened(std::string_view text, const std::string& file,
                                   const std::string& expected);

// "a, b or c".
std::string joined(const auto& words) {
  std::string text;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (i > 0) text += i + 1 == words.size() ? " or " : ", ";
    text += words[i];
  }
  return text;
}

// A value as a message shows it: on one line, shortened.
std::string shown(const toml::node& node);

// The first section or key that no plan has.
std::optional<Error> unknown_name(const toml::table& root, const std::string& file);

}  // namespace foreshard
