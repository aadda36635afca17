// One key of a plan with a value that it may take, such as `sharding.strategy = "hybrid_shard"`: read
// once, set in any number of plans.
#pragma once

#include <any>
#include <cstddef>
#include <string>

#include "models/plan/plan.hpp"

namespace foreshard {

class PlanSetting {
 public:
  // The value that `plan` has for the key with this number in the list of keys.
  PlanSetting(const Plan& plan, std::size_t key);

  void set_in(Plan& plan) const;

  const std::string& key() const { return spelt_.name; }     // "sharding.strategy"
  const std::string& value() const { return spelt_.value; }  // as the plan file spells it

 private:
  std::size_t number_;
  SpeltKey spelt_;
  std::any value_;
};

}  // namespace foreshard
