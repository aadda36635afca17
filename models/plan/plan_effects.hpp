// Settings of a plan that change nothing under its own operators, runtime, policies and modes: a
// table of keys and of the plans that need them. What depends on the model is in job.cpp.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "models/plan/plan.hpp"

namespace foreshard {

// One sentence, "KEY = VALUE has no effect ...", for each key that is not at its default and that
// nothing uses under this plan, in the order of the plan file.
std::vector<std::string> settings_without_effect(const Plan& plan);

// What the plan would need for "section.key" to have an effect: "batch.accumulation of at least 2".
// Empty where it has one.
std::string_view needed_for_effect(const Plan& plan, std::string_view key);

}  // namespace foreshard
