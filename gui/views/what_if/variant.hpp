// A variant as plots and tables show it: the present settings, or a pin. Hues mean data, so
// variants are greys told apart by letter and dash.
#pragma once

#include <vector>

#include "gui/models/what_if/what_if.hpp"
#include "gui/paint/step_line.hpp"

namespace foreshard::gui {

struct Variant {
  QString letter;  // "Now", "A"
  QString name;
  OutcomePtr outcome;
  int place = 0;  // 0: now, then the pins
};

// The present answer first, where there is one.
std::vector<Variant> variants_of(const WhatIf& what_if);

StepPen pen_of(const Variant& variant);

}  // namespace foreshard::gui
