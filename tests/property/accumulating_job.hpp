// Random jobs of several micro-steps.
#pragma once

#include <optional>
#include <string>

#include "tests/property/random_job.hpp"

namespace foreshard::tests {

// Of Foreshard's operators, with 1 to 9 micro-steps.
Job accumulating_job(JobDrawer& drawer);
// Of PyTorch's operators, on a device with memory for it; nothing where the plan is none.
std::optional<Job> accumulating_pytorch_job(JobDrawer& drawer);
// Now of the ones, now of the others.
Job any_accumulating_job(JobDrawer& drawer);

// Ranks, plan and model, for a test that fails.
std::string job_text(const Job& job);

}  // namespace foreshard::tests
