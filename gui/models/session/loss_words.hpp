// What a recording lost, in words: how many records between which moments, and what is not to be
// trusted there. Only of losses whose time is known.
#pragma once

#include <QStringList>
#include <optional>

#include "traces/intervals.hpp"
#include "traces/trace.hpp"

namespace foreshard::gui {

bool concerns(const traces::Loss& loss, std::optional<int> rank);

// A sentence for each kind of record that was lost: those of one rank, or of all, that overlap
// `within`, or all. Times count from
// the start of the step that all of it happened in, or from the trace's first event.
QStringList loss_sentences(const traces::Trace& trace, std::optional<int> rank = {},
                           std::optional<traces::Interval> within = {});

}  // namespace foreshard::gui
