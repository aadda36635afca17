// How much longer or shorter a recording's work takes on another machine, or among another number
// of ranks: the ratio of what the cost model of machines estimates for either, so that what the
// model gets wrong on both alike cancels out.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "models/base/error.hpp"
#include "models/hardware/hardware.hpp"
#include "simulator/whatif/recorded_run.hpp"

namespace foreshard::simulator {

struct OtherCluster {
  std::optional<Machine> machine;  // nothing: the recorded one
  int ranks = 0;                   // 0: as recorded

  bool is_asked() const { return machine.has_value() || ranks > 0; }
};

struct ClusterFactors {
  std::vector<double> factors;           // by activity of the run
  std::vector<std::string> assumptions;  // sentences
};

// Collectives of all recorded ranks become collectives of the other number, of as many bytes; those
// of smaller groups keep theirs. Work of which the recording does not show the operator and its
// shape is taken to be bounded by the device's memory; a collective without its bytes keeps its
// time. An error where the recording does not name a machine of the catalogue, which there would be
// nothing to compare with.
Result<ClusterFactors> cluster_factors(const OtherCluster& other, const RecordedRun& run,
                                       const traces::Trace& trace, const std::string& file);

}  // namespace foreshard::simulator
