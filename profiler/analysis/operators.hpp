// Total and self time of each operator, over all ranks.
#pragma once

#include <string>
#include <vector>

#include "profiler/analysis/analysis.hpp"

namespace foreshard::profiler {

// By what events are told apart.
enum class OperatorNames {
  // Their own: those of kernels, where a recording has them.
  of_events,
  // The operators of the instructions that they are of: what a prediction has too. An instruction
  // counts once, whatever kernels it consists of.
  of_instructions
};

// The operator of an event's instruction; its own name where it has none.
std::string operator_name(const traces::Trace& trace, const traces::Event& event);

// Device work and computation on the host; in imported recordings, whose operators run on the
// host too, also those and the calls of the runtime. Costliest first.
std::vector<OperatorTotal> operator_totals(const traces::Trace& trace,
                                           OperatorNames names = OperatorNames::of_events);

}  // namespace foreshard::profiler
