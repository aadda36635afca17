// Activities of profiled processes as a trace. They become tables as Nsight Systems exports them, whose
// importer then names, classifies and joins them, so that there is one such place.
#pragma once

#include <string>
#include <vector>

#include "models/base/error.hpp"
#include "profiler/injection/raw_activities.hpp"
#include "traces/trace.hpp"

namespace foreshard::profiler {

// Of processes of one machine, ranks in this order; a process with several devices is several ranks.
// `scratch`: a file that is written and removed. Only the first `processes` of 2^16 count.
Result<traces::Trace> trace_of_activities(const std::vector<RawActivities>& processes,
                                          const std::string& scratch);

}  // namespace foreshard::profiler
