// What is asked about a recording: which times would be others, by which factor. 0.5 is half the
// time.
#pragma once

#include <string>
#include <vector>

#include "models/base/error.hpp"
#include "simulator/whatif/recorded_run.hpp"

namespace foreshard::simulator {

// Of the device work whose name matches a glob of *, ? and [...], as the shell's.
struct Scale {
  std::string glob;
  double factor = 1;
};

struct Changes {
  std::vector<Scale> scales;  // where several match, their product
  double collectives = 1;     // all communication
  double launch = 1;          // the calls that launch device work
  double host = 1;            // everything the host does but wait
  bool without_stragglers = false;
};

// "GLOB=FACTOR", divided at the last =, and "collectives=F", "launch=F", "host=F" or
// "stragglers=none", as --scale and --set take them. The error names the option and what it was
// given: no factor from 0 to a million, a name that cannot be set, or one that is set twice.
Result<Changes> parse_changes(const std::vector<std::string>& scales,
                              const std::vector<std::string>& settings);

// By activity of the run. An error where a glob matches no work.
Result<std::vector<double>> activity_factors(const Changes& changes, const RecordedRun& run,
                                             const traces::Strings& strings);

}  // namespace foreshard::simulator
