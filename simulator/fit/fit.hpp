// Learns a machine's costs from recordings of it.
//
// A recording holds, for every task of every rank, its cost key, when it ran and how much processor
// time its stream's thread used for it. That is what costs are made of: unlike wall time it does not
// grow when ranks outnumber cores. Where it was not measured, wall time is taken.
//
//   1. speeds      how fast the machine was in each recording, from the cost keys that several
//                  share; all that follows is fitted at the mean speed (fit_speeds.hpp)
//   2. contention  how much faster tasks run when less runs beside them: the bandwidth of memory
//                  that explains best why equal tasks took different times (fit_tables.hpp)
//   3. operators   time = overhead + max(flops x a, bytes x b), on relative errors, per operator,
//                  dtype and threads per rank; collectives per group and nodes (fit_operators.hpp)
//   4. host        what instructions cost the host thread, latencies between threads; what the
//                  driver of an accelerator takes for segments of memory
//   5. in sum      each recorded run is simulated with the result; what the sum of the parts still
//                  misses at a number of ranks becomes the crowding factor of that number, up to a
//                  third; what is beyond is a warning
//   6. the band    each run is predicted from the other runs alone; the spread of those errors and
//                  of the speeds is the band of every later prediction (fit_band.hpp)
//
// What recording itself cost a run is taken out of its step first. Only cost keys are needed for 1 to
// 4; recordings without model and plan, or of only some of their ranks, take no part in 5 and 6. A
// recording that is given twice counts once. Beside recordings an earlier cost file may be given: it
// takes part in 3 to 6 with what the recordings do not show (known_costs.hpp).
#pragma once

#include <string>
#include <vector>

#include "models/base/error.hpp"
#include "simulator/costs/cost_table.hpp"
#include "simulator/fit/known_costs.hpp"
#include "traces/trace.hpp"

namespace foreshard::simulator {

struct Recording {
  std::string file;  // for messages and the report
  const traces::Trace* trace = nullptr;
};

struct FitResult {
  CostTable table;
  std::vector<std::string> warnings;
};

// Errors: no recording, or none that `known` was not fitted to; a prediction, metadata that no run
// has, recordings or `known` costs of different machines, or nothing with a cost key in them.
Result<FitResult> fit(const std::vector<Recording>& recordings, const KnownCosts* known = nullptr);

// What was fitted, how well, and how far predictions of runs that were left out are off.
std::string fit_report(const CostTable& table);

}  // namespace foreshard::simulator
