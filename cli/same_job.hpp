// Whether the processes of a training run have been asked the same: each has a command line and files of its own.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "executor/communication/transport.hpp"
#include "executor/run/training.hpp"

namespace foreshard::cli {

// Everything that decides what is computed and exchanged, by the names that a user knows; not paths, which may
// differ between nodes.
using JobFacts = std::vector<std::pair<std::string, std::string>>;
JobFacts facts_of(const Job& job, const executor::TokenData& data,
                  const executor::WeightSource& weights, const executor::TrainingOptions& options);

struct JobComparison {
  bool is_same = true;  // in all processes
  std::vector<Error>
      errors;  // in what this one differs from rank 0; on rank 0, in what the others do
};
// All processes together.
JobComparison compare_jobs(executor::Transport& transport, const JobFacts& mine);

}  // namespace foreshard::cli
