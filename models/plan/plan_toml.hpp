// What the parts that read a plan from TOML share. Included by them only: toml++ stays in here.
#pragma once

#define TOML_EXCEPTIONS 0
#include <optional>
#include <string>
#include <string_view>

#include <toml++/toml.h>

#include "models/base/error.hpp"
#include "models/plan/plan_keys.hpp"

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

// A value as a message shows it: on one line, shortened.
std::string shown(const toml::node& node);

// The first section or key that no plan has.
std::optional<Error> unknown_name(const toml::table& root, const std::string& file);

// Sets the key in a plan; an error where the value is none that it may have.
Result<void> set_from(const toml::node& node, const PlanKey& key, const std::string& file,
                      Plan& plan);

}  // namespace foreshard
