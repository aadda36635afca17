// The options that ask a question (models/question), and the job and costs that they name.
#pragma once

#include <optional>
#include <string>

#include "cli/common/options.hpp"
#include "models/question/asked.hpp"
#include "simulator/predict/asked_job.hpp"

namespace foreshard::cli {

struct QuestionOptions {
  Asked said;
  std::string plan, operators, question;
  bool is_quiet = false;

  // --model, --plan, --ranks, --nodes and --deterministic: what can be run here. `may_be_stored`: with
  // --question none of them is needed.
  void add_job_to(Options& options, bool may_be_stored = false);
  // These, --question, --operators and --machine.
  void add_to(Options& options);
  void add_device_to(Options& options);
  void add_costs_to(Options& options);

  // `otherwise`: the plan where --plan is not given; nothing: that of --question, or each key's default.
  Result<simulator::AskedJob> load(
      const OwnDevice& own_device,
      const std::optional<ConvertedPlan>& otherwise = std::nullopt) const;

 private:
  Result<Asked> asked(const std::optional<ConvertedPlan>& otherwise) const;
};

}  // namespace foreshard::cli
