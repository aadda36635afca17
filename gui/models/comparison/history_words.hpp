// Two snapshots or allocation histories compared request by request, in words and rows.
#pragma once

#include <QString>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "gui/models/base/colour_role.hpp"
#include "models/base/error.hpp"
#include "profiler/replay/history_comparison.hpp"

namespace foreshard::gui {

// Reads both files; of a snapshot's devices the one with the most events.
Result<profiler::HistoryComparison> compare_history_files(const std::string& baseline,
                                                          const std::string& candidate);

struct HistoryRow {
  QString baseline, candidate;  // a request in words; empty: none is left
  bool is_equal = false;
};

struct HistoryWords {
  Role state = Role::ok;
  QString lead, text, detail;
  QString before, after;         // what the columns are
  std::vector<HistoryRow> rows;  // around the first difference
};
HistoryWords words_of(const profiler::HistoryComparison& comparison);

}  // namespace foreshard::gui
