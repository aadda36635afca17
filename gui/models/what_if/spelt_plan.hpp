// A plan by its keys as a plan file spells them, so that one that breaks a rule can be held, shown
// and mended. Whoever needs the plan itself asks for it, and gets what is wrong where it breaks
// one.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "models/plan/plan.hpp"

namespace foreshard::gui {

class SpeltPlan {
 public:
  explicit SpeltPlan(const Plan& plan = {}) : keys_(spelt_keys(plan)) {}

  const std::vector<SpeltKey>& keys() const { return keys_; }
  // As the file spells it; empty for a key that is not written.
  const std::string& value(std::string_view key) const;
  void set(std::string_view key, std::string value);

  std::string toml() const;
  Result<Plan> plan() const;

  // Keys whose values differ from another plan's.
  std::vector<std::string> differences(const SpeltPlan& other) const;

  bool operator==(const SpeltPlan& other) const { return differences(other).empty(); }

 private:
  std::vector<SpeltKey> keys_;
};

// "every" of "\"every\"": the word within the quotes, or the value as it is.
std::string_view unquoted(std::string_view value);
std::string in_quotes(std::string_view word);

}  // namespace foreshard::gui
