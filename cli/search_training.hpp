// The options of `foreshard search` that are about a whole training: its tokens, what it may cost and take, and
// what checkpoints and failures take of it.
#pragma once

#include <optional>

#include "cli/common/options.hpp"
#include "simulator/search/training.hpp"

namespace foreshard::cli {

class TrainingOptions {
 public:
  void add_to(Options& options);
  // All others need the tokens.
  Result<void> check() const;
  // Nothing where no tokens are asked for.
  std::optional<simulator::TrainingGoal> goal() const;
  bool has_budget() const { return budget_usd_ > 0; }

 private:
  double tokens_ = 0, budget_usd_ = 0, storage_gb_s_ = 0;
  std::optional<double> deadline_s_, gpu_mtbf_s_, restart_s_;
};

}  // namespace foreshard::cli
