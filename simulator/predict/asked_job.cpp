#include "simulator/predict/asked_job.hpp"

#include <string>
#include <utility>
#include <vector>

#include "models/hardware/device_names.hpp"
#include "models/question/question_json.hpp"
#include "simulator/costs/check_costs.hpp"

namespace foreshard::simulator {
namespace {

// The machine and the operators of a cost file.
Result<RecordedBy> recorded_by(const CostTable& costs, Asked& asked) {
  RecordedBy recorded;
  if (costs.is_accelerator) recorded.machine = machine_reported_as(costs.machine_name);
  if (asked.machine.empty() && costs.rates) asked.machine = costs.rates->machine;
  if (!asked.machine.empty()) {
    const auto machine = load_machine(asked.machine);
    if (!machine) return tl::unexpected(machine.error());
    if (auto ok = check_costs_are_of(*machine, costs, asked.costs); !ok) {
      return tl::unexpected(ok.error());
    }
  }
  recorded.operators = operators_in(costs.question);
  recorded.is_accelerator = costs.is_accelerator;
  return recorded;
}

}  // namespace

PredictionOptions AskedJob::prediction_options() const {
  PredictionOptions options;
  options.costs = costs ? &*costs : nullptr;
  options.machine = job.machine_id.empty() ? nullptr : &*job.machine;
  return options;
}

Result<AskedJob> asked_job(Asked asked, const OwnDevice& own_device) {
  std::optional<CostTable> costs;
  RecordedBy recorded;
  if (!asked.costs.empty()) {
    auto table = load_cost_table(asked.costs);
    if (!table) return tl::unexpected(table.error());
    costs = std::move(*table);
    auto by = recorded_by(*costs, asked);
    if (!by) return tl::unexpected(by.error());
    recorded = std::move(*by);
  }
  auto asks = question_of(asked, recorded, own_device);
  if (!asks) return tl::unexpected(asks.error());
  auto job = make_job(std::move(*asks), asked.plan_name());
  if (!job) return tl::unexpected(job.error());
  const std::vector<std::string> left_out = conversion_warnings(asked.plan);
  job->warnings.insert(job->warnings.begin(), left_out.begin(), left_out.end());
  return AskedJob{std::move(*job), std::move(costs)};
}

}  // namespace foreshard::simulator
