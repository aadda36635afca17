// An earlier cost file beside new recordings (`foreshard fit --with`): what the recordings show comes
// first, and the file answers for the rest. Both contribute to the fits of operators. The limit of the
// memory is the file's: its costs are those of tasks without it.
#pragma once

#include <string>

#include "models/base/error.hpp"
#include "simulator/costs/cost_table.hpp"
#include "simulator/fit/fit_samples.hpp"

namespace foreshard::simulator {

struct KnownCosts {
  std::string file;  // for messages
  CostTable table;
};

// An error where they are of another machine than the recording.
Result<void> check_machine(const KnownCosts& known, const RunSamples& samples);

// Whether the costs were fitted to this very recording, too.
bool contains(const KnownCosts& known, const RunSamples& samples);

// Before operators are fitted: adds the measured costs, host costs and numbers of threads that
// `table` lacks, at the speed that the machine had in its recordings, as costs that both have show it.
void add_measured(const CostTable& known, CostTable& table);

// Afterwards: adds the crowding of numbers of ranks that the recordings do not have.
void add_crowding(const CostTable& known, CostTable& table);

}  // namespace foreshard::simulator
