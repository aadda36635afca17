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

ChosenCosts chosen_costs(const Job& job, const PredictionOptions& options) {
  const bool is_named = options.costs != nullptr || options.machine != nullptr;
  const bool is_pytorch = job.plan.operators != OperatorSetName::foreshard;
  const Machine& machine = job.machine ? *job.machine : default_pytorch_machine();
  ChosenCosts chosen = is_named || !is_pytorch
                           ? chosen_costs(job.ranks, job.nodes, options)
                           : ChosenCosts{machine_costs(machine, job.ranks, job.nodes), false, ""};
  if (!is_pytorch || job.machine) return chosen;
  chosen.assumption =
      is_named
          ? "the job's device is not in the catalogue: workspaces are those of an " + machine.name
          : "no machine was named: workspaces and times are those of an " + machine.name +
                ", and memory has no limit";
  return chosen;
}

}  // namespace foreshard::simulator
