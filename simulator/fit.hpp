// Learns a machine's costs from recordings of it.
//
// A recording holds, for every task of every rank, its cost key, when it ran and how much processor
// time its stream's thread used for it. That is what costs are made of: unlike wall time it does not
// grow when ranks outnumber cores. Where it was not measured, wall time is taken.
//
//   1. contention  how much faster tasks run when less runs beside them: the bandwidth of memory
//                  that explains best why equal tasks took different times (fit_contention.hpp)
//   2. operators   time = overhead + flops x a + bytes x b, by non-negative least squares on relative
//                  errors, per operator, dtype and threads per rank; collectives per group size
//   3. host        what instructions cost the host thread, latencies between threads
//   4. in sum      each recorded run is simulated with the result; what the sum of the parts still
//                  misses at a number of ranks becomes the crowding factor of that number
//   5. the band    each run is predicted from the other runs alone; the spread of those errors is
//                  the error band of every later prediction
//
// Only cost keys are needed for 1 to 3; recordings without model and plan take no part in 4 and 5.
#pragma once

#include <string>
#include <vector>

#include "models/error.hpp"
#include "simulator/cost_table.hpp"
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

// Errors: no recording, recordings of different machines, or nothing with a cost key in them.
Result<FitResult> fit(const std::vector<Recording>& recordings);

// What was fitted, how well, and how far predictions of runs that were left out are off.
std::string fit_report(const CostTable& table);

}  // namespace foreshard::simulator
