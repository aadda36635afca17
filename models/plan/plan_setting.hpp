// One key of a plan with a value that it may take, such as `sharding.strategy = "hybrid_shard"`: read
// once, set in any number of plans. And a space of plans: keys with the values that each takes in turn.
//
// A space is a TOML file with a list of values for each key that varies:
//
//   "batch.micro_batch" = [1, 2, 4]
//   "checkpointing.mode" = ["none", "full"]
#pragma once

#include <any>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

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

// A key and the values it takes, of which there is at least one; none twice.
using PlanAxis = std::vector<PlanSetting>;

// In the order of the list of keys. `file` is used in messages only. Errors name the key, the value and
// what is allowed.
Result<std::vector<PlanAxis>> parse_plan_space(std::string_view toml, const std::string& file);
Result<std::vector<PlanAxis>> load_plan_space(const std::string& path);

}  // namespace foreshard
