// The options that name a job, and the job they name.
#pragma once

#include <optional>
#include <string>

#include "cli/common/options.hpp"
#include "models/sharding/job.hpp"

namespace foreshard::cli {

struct JobOptions {
  std::string model, plan;
  int ranks = 0;
  std::optional<int> nodes;
  bool is_deterministic = false;  // whatever the plan says

  void add_to(Options& options);
  // `machine`: that PyTorch's operators run on; may be null. `own_device`: what Foreshard's run on.
  Result<Job> load(const Machine* machine = nullptr, const DeviceTraits& own_device = {}) const;
};

}  // namespace foreshard::cli
