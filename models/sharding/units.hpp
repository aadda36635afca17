// FSDP units: the parameter groups that a plan's wrap policy makes of a module tree.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "models/base/error.hpp"
#include "models/llama/llama_config.hpp"
#include "models/llama/module_tree.hpp"
#include "models/plan/plan.hpp"

namespace foreshard {

using UnitId = std::int32_t;

// One FSDP parameter group: `fully_shard` called on `modules` (more than one: a list-wrapped group,
// in the order of the list).
struct Unit {
  std::string name;  // paths of its modules joined by ", "; empty for the root
  std::vector<ModuleId> modules;
  std::vector<ParameterId> parameters;  // group order: post-order below each of its modules
};

// The units a plan's wrap section makes, in the order of named_modules() of their first module, so
// unit 0 is the root's (present even when nothing is left for it, then without parameters).
// Errors: globs that match nothing, a module in two groups, tied weights in two units.
Result<std::vector<Unit>> wrap_units(const ModuleTree& tree, const LlamaConfig& config,
                                     const Plan& plan, const std::string& plan_file);

// Whether a Hugging Face module path matches a glob; `*` stays inside one path component.
bool glob_matches(std::string_view glob, std::string_view path);

}  // namespace foreshard
