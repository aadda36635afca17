// Calibration: short training runs of this machine, chosen here and made by the caller, become a cost
// table as any other recordings do (simulator/fit).
//
// Of the runs that are left the first is made that the rest of the time is enough for. How long one will
// take is estimated from those before: by what every run sets up, its parameters, its steps, their
// operations and what they do on the host. It gets the steps that fit into its part of the time that is
// left. A run that seems too long gets another chance once more is known, and one that fails does not
// end the others. What was measured by the end of the time, or when the user had enough, is what the
// costs rest on.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "models/base/error.hpp"
#include "models/base/units.hpp"
#include "simulator/calibrate/calibration_runs.hpp"
#include "simulator/fit/fit.hpp"
#include "traces/trace.hpp"

namespace foreshard::simulator {

// How a machine is asked.
struct CalibratedMachine {
  // A recording of so many steps of the job; nothing where the machine's memory is too small for it,
  // or where it was interrupted. Its `recorder_overhead_fraction` is what unrecorded steps take less.
  std::function<Result<std::optional<traces::Trace>>(const Job& job, std::int64_t steps)> record;
  std::function<Nanoseconds()> now;  // a clock that never goes back
};

struct CalibrationOptions {
  CalibrationLimits limits;
  Nanoseconds time{240'000'000'000};  // for the runs; what comes after takes seconds
  // Before each run: how much of all is done (0 to 100), and what comes next.
  std::function<void(int percent, const std::string& next)> on_run;
  const std::atomic<bool>* interrupt = nullptr;  // once it is set no further run is made
};

// The warnings name runs that failed, and numbers of ranks and types of which nothing was measured.
// Errors are those of `fit`, and that there was not a single run: the first of `record`, if any.
Result<FitResult> calibrate(const CalibratedMachine& machine, const CalibrationOptions& options);

}  // namespace foreshard::simulator
