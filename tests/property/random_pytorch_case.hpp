// Random small models and plans for PyTorch's eager mode under FSDP2, with awkward sizes on purpose, in
// the words of tests/models/lowering/pytorch_case.hpp: those that the reference's script describes as
// PyTorch runs them. What it leaves out or has otherwise is in logs of tests/golden/fsdp_requests.
#pragma once

#include <nlohmann/json.hpp>

#include "tests/property/random_job.hpp"

namespace foreshard::tests {

// The words, beside them `config` and the PyTorch `version`.
nlohmann::json random_pytorch_case(JobDrawer& drawer);

}  // namespace foreshard::tests
