// A part of a trace: some ranks, some steps, a stretch of time. It is cut out before anything is
// counted, so that every figure is of the part alone.
//
// A part has the events of its ranks that its steps issued. What lies outside of all steps, such as the
// loading of data between two, belongs to the step in whose time it is: from the end of the device's
// work for the step before to the end of its own. Events that begin before or end after the stretch are cut
// off there, and have neither a size nor a cost then. Steps remain steps where they lie within the stretch
// as a whole. The memory that was in use before is there from the part's beginning on.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "models/base/error.hpp"
#include "traces/import_options.hpp"
#include "traces/trace.hpp"

namespace foreshard::traces {

struct Selection {
  std::vector<NumberRange> ranks = {}, steps = {};       // none: all
  std::optional<std::int64_t> from_ns = {}, to_ns = {};  // on the trace's clock

  bool is_everything() const { return ranks.empty() && steps.empty() && !from_ns && !to_ns; }
};

// The part, with what it is in the metadata "selection", in words. An error where nothing is left; it
// names `file` and what the trace has.
Result<Trace> part_of(Trace trace, const Selection& selection, const std::string& file);

}  // namespace foreshard::traces
