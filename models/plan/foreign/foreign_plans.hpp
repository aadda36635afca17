// Configurations of other tools, read as plans: Accelerate's FSDP YAML, torchtitan's TOML and
// DeepSpeed's ZeRO JSON. A file is recognised by its content, whatever its name ends in; one that is
// a plan already is read as parse_plan reads it.
//
// What a key becomes follows the tools' own source: where the file leaves a key out, the plan has the
// tool's default and not Foreshard's. Whatever has no equivalent in a plan is named with the reason, never
// dropped in silence; values that no run of the tool could have are errors. docs/other-configurations.md
// has the tables.
//
// The plan describes what the tool runs, PyTorch's operators and its sharding runtime, whether or not this
// version of Foreshard can predict them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "models/base/error.hpp"
#include "models/plan/plan.hpp"

namespace foreshard {

// A key of the other tool that the plan has taken over. What the tool does without being asked has no
// value in the file: `value` is empty then, and `key` too where no key could set it.
struct CarriedKey {
  std::string key;             // "fsdp_config.fsdp_version"
  std::string value;           // as the file spells it
  std::vector<SpeltKey> plan;  // the keys of the plan it became, with their values
  std::string note;            // why these, or how far the likeness goes; may be empty
};

// A key that would change memory or time and that no plan can express, or that was not understood.
struct DroppedKey {
  std::string key, value, why;
};

// Parts of the job in the file that a plan does not contain: flags of the commands.
struct NamedFacts {
  std::optional<std::int64_t> ranks, nodes, steps, sequences_per_step;
  std::string model;
};

struct ConvertedPlan {
  Plan plan;
  std::string origin;  // "Accelerate FSDP 2 configuration"; empty: the file was a plan
  std::vector<CarriedKey> carried;
  std::vector<DroppedKey> dropped;
  std::vector<std::string> without_effect;  // keys that change neither memory nor time
  std::vector<std::string>
      unsaid;  // keys of the plan that such a file does not set: Foreshard's defaults
  NamedFacts facts;

  bool is_foreign() const { return !origin.empty(); }
};

// `file` is used in messages only.
Result<ConvertedPlan> parse_any_plan(std::string_view text, const std::string& file);
Result<ConvertedPlan> read_any_plan(const std::string& path);

// The whole conversion for people: what became what, what was dropped and why.
std::string conversion_report(const ConvertedPlan& converted);
// One line that names what was dropped; empty for a file that was a plan.
std::string conversion_summary(const ConvertedPlan& converted);

}  // namespace foreshard
