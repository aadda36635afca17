#include "simulator/costs/check_costs.hpp"

namespace foreshard::simulator {
namespace {

// The id behind FILE.csv:ID.
std::string id_in(const std::string& machine) {
  const std::size_t extension = machine.rfind(".csv:");
  return extension == std::string::npos ? machine : machine.substr(extension + 5);
}

}  // namespace

Result<void> check_costs_are_of(const Machine& machine, const CostTable& costs,
                                const std::string& file) {
  if (!costs.is_accelerator) {
    return fail(file, "machine.name",
                "holds costs of a processor (" + costs.machine_name + "), which " + machine.id +
                    " cannot add to; expected costs of an accelerator, or no --machine with them");
  }
  if (costs.rates && machine.id != id_in(costs.rates->machine)) {
    return fail(file, "device_rates.machine",
                "holds steps observed on " + costs.rates->machine + ", not on " + machine.id +
                    "; expected that machine, or none to be named");
  }
  return {};
}

}  // namespace foreshard::simulator
