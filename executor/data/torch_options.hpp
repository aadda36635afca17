// What PyTorch's optimizers, and torchtitan's trainer and scheduler, want to find in a checkpoint beside the
// tensors of a model and its moments: steps, options of the optimizer's groups, how far the run is. The keys
// are those of PyTorch 2.11 (torch/optim/adamw.py, sgd.py) and torchtitan 0.2.2.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "executor/data/dcp_metadata.hpp"
#include "executor/data/run_state.hpp"
#include "executor/data/state_names.hpp"

namespace foreshard::executor {

struct TorchOption {
  StateKey key;
  std::string pickle;         // of a value
  std::optional<float> step;  // or a tensor of this number
};

// Of the parameters among `tensors`. An error where the state's plan cannot be read.
Result<std::vector<TorchOption>> torch_options(StateNames names, const RunState& state,
                                               const DcpMetadata& tensors);

}  // namespace foreshard::executor
