// What an operator costs where a recording's shapes do not say it: lists of tensors, and operators that
// importers have no rule for, by the bytes of their arguments and of what they allocate.
#pragma once

#include <cstdint>
#include <string_view>

#include "models/program/operators.hpp"
#include "profiler/rehearsal/program/captured_step.hpp"

namespace foreshard::profiler {

// `kernel`: a name of those it launches; `allocated`: bytes that are its results. The key is opaque where
// neither decides how long it takes, as of a sort or of somebody's own kernel.
CostKey cost_of(const CapturedOperator& op, std::string_view kernel, std::int64_t allocated);

}  // namespace foreshard::profiler
