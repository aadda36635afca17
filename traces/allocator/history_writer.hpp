// Writes a labelled allocation history as JSON lines: a header, then an event a line in the words of
// PyTorch's memory snapshot, with labels on requests and on frees the program requested. What this
// writes read_allocator_history reads.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <string>
#include <vector>

#include "models/allocator/memory_peaks.hpp"
#include "traces/allocator/labelled_history.hpp"

namespace foreshard::traces {

// Which run a history is of.
struct HistoryOrigin {
  std::string model;
  int ranks = 1, rank = 0;
  std::vector<MemoryPeaks> steps;  // from step 1 on
};

void write_allocator_history(const HistoryOrigin& origin, const LabelledHistory& history,
                             std::ostream& out);

}  // namespace foreshard::traces
