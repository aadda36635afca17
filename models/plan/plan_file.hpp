// A plan as a file gives it: values, and which keys the file writes. Keys that it leaves out are for the
// question to fill in, whose subject has defaults of its own: PyTorch on a GPU is not what Foreshard
// trains here.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "models/base/error.hpp"
#include "models/plan/plan.hpp"

namespace foreshard {

struct WrittenKey {
  std::string name;  // "section.key"
  int line = 0;      // 0: unknown
};

struct PlanFile {
  std::string name;  // in messages
  Plan plan;         // every other key has its default
  std::vector<WrittenKey> written;

  bool writes(std::string_view key) const;
};

// Each value is checked by itself, rules over several keys by `completed`.
Result<PlanFile> parse_plan_file(std::string_view toml, const std::string& name);
Result<PlanFile> load_plan_file(const std::string& path);

// The file's plan, with the values of `defaults` for what the file does not write: a plan that keeps all
// rules. optimizer.kernel, where it is not written, is what the operators have: "foreach" or "fused".
Result<Plan> completed(const PlanFile& file, const Plan& defaults = {});

}  // namespace foreshard
