// The table LOSSES: when records were lost. Only for the reader of this folder.
#pragma once

#include <cstdint>
#include <optional>

#include "traces/import_options.hpp"
#include "traces/sqlite/untrusted_database.hpp"
#include "traces/trace.hpp"

namespace foreshard::traces {

struct TableDamage {
  std::int64_t invalid = 0;  // rows that cannot be
  bool is_cut_short = false;
};

// Adds to a trace whose steps are there. Where only some steps are wanted, what was lost outside of
// them is left out.
TableDamage read_losses(const UntrustedDatabase& file, const std::optional<StepRange>& steps,
                        Trace& trace);

}  // namespace foreshard::traces
