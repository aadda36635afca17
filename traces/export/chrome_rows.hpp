// Rows of a trace viewer: events of one thread must nest in Chrome's format; viewers drop events that
// overlap in another way. Only for the sources of this folder.
#pragma once

#include <cstdint>
#include <vector>

#include "traces/trace.hpp"

namespace foreshard::traces {

struct ChromeRow {
  std::int32_t lane = 0;
  std::int32_t overflow = 0;  // 0: the lane's own row, else one more for what overlaps there
};

struct ChromeRows {
  std::vector<ChromeRow> rows;  // the lanes' own rows first, by lane
  std::vector<std::int32_t> row_of_event;
};

// Work of a device gets a row of its own wherever it overlaps other work of its stream; everything
// else where it overlaps without nesting.
ChromeRows chrome_rows(const Trace& trace);

}  // namespace foreshard::traces
