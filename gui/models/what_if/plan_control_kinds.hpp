// Which kind of control a key's type makes, with notches and words where they are not the type's
// own.
#pragma once

#include <vector>

#include "gui/models/what_if/plan_control.hpp"

namespace foreshard::gui {

// Of every key in the order of the plan file, without tooltips.
std::vector<PlanControl> control_kinds();

}  // namespace foreshard::gui
