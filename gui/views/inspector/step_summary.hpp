// What the inspector tells about a step when nothing is selected, out of the analysis: where its
// time goes, what bounds it, what the critical path consists of, and how the recording was made.
#pragma once

#include <QString>
#include <vector>

#include "gui/models/session/document.hpp"
#include "gui/views/base/fact_list.hpp"
#include "gui/views/base/share_bar.hpp"
#include "gui/views/inspector/panel_head.hpp"

namespace foreshard::gui {

struct StepSummary {
  Headline headline;
  std::vector<Share> shares;
  std::vector<Fact> time;
  std::vector<QString> sentences;
  std::vector<Fact> path;       // parts of the critical path, longest first
  std::vector<Fact> operators;  // costliest first, of all ranks and steps
  std::vector<Fact> memory;
  std::vector<Fact> recording;
};

// Of the last step of that rank; of the whole recording where it has no steps.
StepSummary summarise_step(const Document& document, int rank);

}  // namespace foreshard::gui
