// What trains: all of a model but what a plan freezes, and where gradients go through it.
#pragma once

#include <string>
#include <vector>

#include "models/sharding/job.hpp"

namespace foreshard {

// The tree with the adapters that a plan has, beside which nothing trains, and with the parameters frozen
// that a glob of `frozen` names, by a module above them or by their own name. Errors: globs that match nothing, nothing left that trains, and plans under which frozen
// parameters are not described.
Result<ModuleTree> as_trained(ModuleTree tree, const Plan& plan, const std::string& file);

// Refuses units that PyTorch cannot wrap: FSDP1 without use_orig_params flattens only parameters that
// all train, or all do not.
Result<void> check_frozen_units(const Job& job, const std::string& file);

// The type in which what trains is kept: adapters may have one of their own.
DType trained_storage(const Plan& plan);
DType storage_of(const Plan& plan, const Parameter& parameter);
// Whether adapters are kept, and compute, in a wider type than the model.
bool has_wide_adapters(const Plan& plan);

// By parameter: whether backward computes its gradient. FSDP1's operators see views of the flat
// parameter, which requires one where any of its parameters does.
std::vector<bool> has_gradients(const Job& job);

// Whether a gradient is computed for what a module is called with: whether anything has one that runs
// before it. Token ids never have one.
bool input_has_gradient(const ModuleTree& tree, const std::vector<bool>& has_gradients,
                        ModuleId module);
// The same of a job, whose model may ask for the gradient of what was embedded: transformers'
// gradient_checkpointing_enable() does (enable_input_require_grads).
bool input_has_gradient(const Job& job, const std::vector<bool>& has_gradients, ModuleId module);
bool embedded_requires_gradient(const Plan& plan);
// Whether one is computed for what a module returns.
bool output_has_gradient(const Job& job, const std::vector<bool>& has_gradients, ModuleId module);

}  // namespace foreshard
