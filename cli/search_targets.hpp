// What `foreshard search` chooses from: machines, how many of their GPUs on how many nodes, and what an hour
// of those costs.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/common/options.hpp"
#include "models/sharding/question.hpp"
#include "simulator/costs/cost_table.hpp"
#include "simulator/search/search.hpp"

namespace foreshard::cli {

class SearchTargets {
 public:
  void add_to(Options& options);
  // The machines that were named, or else the one that the costs' runs were observed on, and the prices.
  Result<void> load(const std::optional<simulator::CostTable>& costs,
                    const std::string& costs_file);
  const std::vector<Machine>& machines() const { return machines_; }

  // `may_be_ours`: some plan may have Foreshard's operators.
  Result<std::vector<simulator::SearchTarget>> targets(const Question& base,
                                                       bool may_be_ours) const;
  // What their networks and prices lack. `needs_prices`: plans without one are no answers.
  std::vector<std::string> warnings(const std::vector<simulator::SearchTarget>& targets,
                                    bool needs_prices) const;

 private:
  struct Size {
    int gpus = 0;
    std::optional<int> nodes;  // over which they are spread evenly
  };

  Result<void> load_machines(const std::optional<simulator::CostTable>& costs,
                             const std::string& costs_file);
  Result<void> load_prices();
  std::vector<Size> sizes_on(const Machine* machine, const std::vector<int>& gpus,
                             const std::vector<int>& nodes, std::string& why_not) const;
  PriceKind price_kind() const;

  std::string machine_names_, gpus_, nodes_, prices_file_;
  std::string price_kind_ = "on-demand";
  std::vector<Machine> machines_;
  std::vector<std::string> machine_ids_;  // of those, as they were named
  simulator::Prices prices_;
};

}  // namespace foreshard::cli
