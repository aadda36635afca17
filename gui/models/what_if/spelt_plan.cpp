#include "gui/models/what_if/spelt_plan.hpp"

#include <algorithm>
#include <utility>

#include "models/base/assertion.hpp"

namespace foreshard::gui {
namespace {

std::string_view section_of(std::string_view key) {
  const std::size_t dot = key.find('.');
  return dot == std::string_view::npos ? std::string_view() : key.substr(0, dot);
}

}  // namespace

const std::string& SpeltPlan::value(std::string_view key) const {
  const auto found = std::find_if(keys_.begin(), keys_.end(),
                                  [key](const SpeltKey& spelt) { return spelt.name == key; });
  FORESHARD_ASSERT(found != keys_.end(), "a plan has no such key");
  return found->value;
}

void SpeltPlan::set(std::string_view key, std::string value) {
  for (SpeltKey& spelt : keys_) {
    if (spelt.name == key) spelt.value = std::move(value);
  }
}

std::string SpeltPlan::toml() const {
  std::string text;
  std::string_view section;
  for (const SpeltKey& spelt : keys_) {
    if (spelt.value.empty()) continue;
    const std::string_view of_key = section_of(spelt.name);
    if (of_key != section) {
      section = of_key;
      text.append("[").append(section).append("]\n");
    }
    text.append(spelt.name, section.empty() ? 0 : section.size() + 1);
    text.append(" = ").append(spelt.value).append("\n");
  }
  return text;
}

Result<Plan> SpeltPlan::plan() const {
  return parse_plan(toml(), "");
}

std::vector<std::string> SpeltPlan::differences(const SpeltPlan& other) const {
  std::vector<std::string> names;
  for (std::size_t k = 0; k < keys_.size(); ++k) {
    if (keys_[k].value != other.keys_[k].value) names.push_back(keys_[k].name);
  }
  return names;
}

std::string_view unquoted(std::string_view value) {
  const bool is_quoted = value.size() >= 2 && value.front() == '"' && value.back() == '"';
  return is_quoted ? value.substr(1, value.size() - 2) : value;
}

std::string in_quotes(std::string_view word) {
  return '"' + std::string(word) + '"';
}

}  // namespace foreshard::gui
