// Which part of a plan each key belongs to: the work of a micro-step, the state that training keeps, both
// or neither (bounds.hpp).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "models/plan/plan.hpp"

namespace foreshard::simulator {

enum class PlanPart : std::uint8_t { work, state };
constexpr std::size_t kPlanParts = 2;

// Whether the part depends on the key. What is not known to leave a part alone belongs to both.
bool depends_on(PlanPart part, std::string_view key);

// The plan with all that the part does not depend on at values that add as little as possible.
Plan alone(PlanPart part, Plan plan);

}  // namespace foreshard::simulator
