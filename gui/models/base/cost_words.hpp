// Where a predicted time comes from, in words.
#pragma once

#include <QString>

#include "models/program/cost_source.hpp"

namespace foreshard::gui {

// "modelled"; empty of what no cost model was asked for.
QString cost_source_word(CostSource source);
// The same in a sentence.
QString cost_source_sentence(CostSource source);

}  // namespace foreshard::gui
