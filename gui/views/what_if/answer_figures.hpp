// The answer as its strips show it: the figures with what they differ by from pin A, the sentence,
// and the line of the status bar.
#pragma once

#include <vector>

#include "gui/models/what_if/what_if.hpp"
#include "gui/views/base/figure_strip.hpp"
#include "gui/views/base/sentence_strip.hpp"

namespace foreshard::gui {

std::vector<StripFigure> answer_figures(const Outcome& outcome, const std::vector<Pin>& pins);
// Errors of the settings come first; then whether the last good ones fit, which notch would not,
// and what the prediction warns of.
Sentence answer_sentence(const WhatIf& what_if);
QString answer_status(const Outcome& outcome);

}  // namespace foreshard::gui
