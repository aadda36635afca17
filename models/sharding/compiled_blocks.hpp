// What is described of blocks that torch.compile makes graphs of.
#pragma once

#include <string>

#include "models/sharding/job.hpp"

namespace foreshard {

// Refuses, under operators "pytorch-compile", models and plans whose graphs are not described. The job
// has its units.
Result<void> check_compiled_blocks(const Job& job, const std::string& plan_file);

}  // namespace foreshard
