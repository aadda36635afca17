#include "simulator/predict/chosen_costs.hpp"

#include "models/sharding/pytorch_device.hpp"
#include "traces/processors.hpp"

namespace foreshard::simulator {

ChosenCosts chosen_costs(int ranks, int nodes, const PredictionOptions& options) {
  if (options.costs != nullptr) {
    return {table_costs(*options.costs, ranks, nodes, options.machine), true, ""};
  }
  if (options.machine != nullptr) return {machine_costs(*options.machine, ranks, nodes), true, ""};
  return {processor_costs(traces::cores(), ranks), true, ""};
}

namespace {

// Costs of one kind of device for a program of Foreshard's that is made for the other; "": they agree.
std::string mismatch(const Job& job, const CostTable& costs) {
  const bool is_on_gpu = job.device.kind == DeviceKind::cuda;
  if (is_on_gpu == costs.is_accelerator) return "";
  const int capability = job.device.compute_capability;
  const std::string made_for = is_on_gpu ? "a GPU of compute capability " +
                                               std::to_string(capability / 10) + "." +
                                               std::to_string(capability % 10) + " (--device cuda)"
                                         : "a CPU (--device cpu)";
  return "the costs are of " + std::string(costs.is_accelerator ? "the GPU " : "the processor ") +
         costs.machine_name + ", but the operators are those for " + made_for +
         "; expected costs of such a device";
}

}  // namespace

ChosenCosts chosen_costs(const Job& job, const PredictionOptions& options) {
  const bool is_named = options.costs != nullptr || options.machine != nullptr;
  const bool is_pytorch = describes_pytorch(job.plan.operators);
  const Machine& machine = job.machine ? *job.machine : default_pytorch_machine();
  ChosenCosts chosen = is_named || !is_pytorch
                           ? chosen_costs(job.ranks, job.nodes, options)
                           : ChosenCosts{machine_costs(machine, job.ranks, job.nodes), false, ""};
  const bool has_recordings = options.costs != nullptr && !options.costs->regimes.empty();
  if (!is_pytorch && has_recordings) chosen.assumption = mismatch(job, *options.costs);
  const bool is_of_unknown_gpu =
      has_recordings && options.costs->is_accelerator && job.device.kind == DeviceKind::cuda;
  if (job.machine || !(is_pytorch || is_of_unknown_gpu)) return chosen;
  chosen.assumption =
      is_named
          ? "the job's device is not in the catalogue: workspaces are those of an " + machine.name
          : "no machine was named: workspaces and times are those of an " + machine.name +
                ", and memory has no limit";
  return chosen;
}

}  // namespace foreshard::simulator
