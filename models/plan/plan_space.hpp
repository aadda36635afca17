// A space of plans: what varies over a base plan, as a TOML file with a list for each key that does.
//
//   "batch.micro_batch" = [1, 2, 4]
//   "checkpointing.mode" = ["none", "full"]
//
// Keys that vary together are a list of tables, under a name that is no key of a plan. A table sets what
// it names and leaves the rest to the base plan:
//
//   variant = [{}, {"offload.parameters" = true}, {"wrap.policy" = "size", "wrap.min_num_params" = 1000}]
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "models/base/error.hpp"
#include "models/plan/plan_keys.hpp"

namespace foreshard {

// Settings that a plan takes together; none: the base plan's.
using PlanChoice = std::vector<PlanSetting>;

// Choices of which a plan takes one. There is at least one.
struct PlanAxis {
  std::string name;               // the key, or that of the list of tables
  std::vector<std::string> keys;  // that some choice sets
  std::vector<PlanChoice> choices;
};

// Whether some choice sets the key.
bool sets(const PlanAxis& axis, std::string_view key);

// Keys in the order of a plan's list of keys, then lists of tables. No key is in two axes. `file` is used
// in messages only. Errors name the key, the value and what is allowed.
Result<std::vector<PlanAxis>> parse_plan_space(std::string_view toml, const std::string& file);
Result<std::vector<PlanAxis>> load_plan_space(const std::string& path);

}  // namespace foreshard
