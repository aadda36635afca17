// Ranges of dropped records in words: how many records are missing, between which moments, and which
// figures are not reliable there.
#pragma once

#include <QStringList>
#include <optional>

#include "traces/intervals.hpp"
#include "traces/trace.hpp"

namespace foreshard::gui {

bool concerns(const traces::DroppedRange& range, std::optional<int> rank);

// A sentence for each kind of record that was dropped, for ranges of one rank, or of all, that overlap
// `within`, or all. Times count from the start of the step that contains the ranges, or from the
// trace's first event.
QStringList dropped_range_sentences(const traces::Trace& trace, std::optional<int> rank = {},
                                    std::optional<traces::Interval> within = {});

}  // namespace foreshard::gui
