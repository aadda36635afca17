#include "cli/search_training.hpp"

#include <utility>

namespace foreshard::cli {

void TrainingOptions::add_to(Options& options) {
  options.number("--train-tokens", tokens_, 1e18,
                 {"TOKENS", "tokens of the whole training, for its time and cost", false, "none"});
  options.number("--budget", budget_usd_, 1e15,
                 {"USD", "US dollars that the whole training may cost", false, "no limit"});
  options.span("--deadline", deadline_s_,
               {"TIME", "time that it may take, such as 30d or 12h", false, "no limit"});
  options.span("--gpu-mtbf", gpu_mtbf_s_,
               {"TIME",
                "mean time between failures of one GPU that stop a run, its share of hosts and "
                "network with it",
                false, "50677h, as Meta's 16,384 GPUs had with Llama 3"});
  options.span("--restart-time", restart_s_,
               {"TIME", "from a failure until the processes run again, checkpoint not yet loaded",
                false, "10min, an assumption"});
  options.number("--storage-bandwidth", storage_gb_s_, 1e6,
                 {"GB_S", "GB/s of the storage that all hosts write checkpoints to", false,
                  "each host's own, where the catalogue has it"});
}

Result<void> TrainingOptions::check() const {
  if (tokens_ > 0) return {};
  const std::pair<const char*, bool> given[] = {{"--budget", has_budget()},
                                                {"--deadline", deadline_s_.has_value()},
                                                {"--gpu-mtbf", gpu_mtbf_s_.has_value()},
                                                {"--restart-time", restart_s_.has_value()},
                                                {"--storage-bandwidth", storage_gb_s_ > 0}};
  for (const auto& [option, is_given] : given) {
    if (!is_given) continue;
    return fail("", option,
                "is for a whole training; expected --train-tokens too, the number of its tokens");
  }
  return {};
}

std::optional<simulator::TrainingGoal> TrainingOptions::goal() const {
  if (tokens_ <= 0) return {};
  simulator::TrainingGoal goal;
  goal.tokens = tokens_;
  if (has_budget()) goal.budget_usd = budget_usd_;
  goal.deadline_s = deadline_s_;
  goal.gpu_mtbf_s = gpu_mtbf_s_.value_or(goal.gpu_mtbf_s);
  goal.restart_s = restart_s_.value_or(goal.restart_s);
  goal.storage_bandwidth = storage_gb_s_ * 1e9;
  return goal;
}

}  // namespace foreshard::cli
