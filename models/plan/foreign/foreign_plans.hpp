// Configurations of other tools, read as plans: Accelerate's YAML, DeepSpeed's JSON, torchtitan's TOML and
// what its Python exports, TrainingArguments of transformers and the files of axolotl and LLaMA-Factory. A file is recognised by its content, whatever its name ends in; one that is
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
#include "models/plan/plan_file.hpp"

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

// A file of any tool, read as a plan file that writes the keys it sets, and what became of its own keys.
struct ConvertedPlan : PlanFile {
  std::string origin;  // "Accelerate FSDP 2 configuration"; empty: the file was a plan
  std::vector<CarriedKey> carried;
  std::vector<DroppedKey> dropped;
  std::vector<std::string> without_effect;  // keys that change neither memory nor time
  std::vector<std::string>
      unsaid;  // keys of the plan that such a file does not set: Foreshard's defaults
  NamedFacts facts;

  bool is_foreign() const { return !origin.empty(); }
};

// `file` is used in messages only. `ranks` of the job, where they are known: batch sizes that count all
// ranks, and groups of "the rest", follow from it.
Result<ConvertedPlan> parse_any_plan(std::string_view text, const std::string& file,
                                     std::optional<std::int64_t> ranks = std::nullopt);
Result<ConvertedPlan> read_any_plan(const std::string& path,
                                    std::optional<std::int64_t> ranks = std::nullopt);

// Whether a file is a plan, or a configuration that read_any_plan reads, by what stands in it.
bool is_any_plan(const std::string& path);

// The whole conversion for people: what became what, what was dropped and why.
std::string conversion_report(const ConvertedPlan& converted);
// What the file was read as.
std::string conversion_origin(const ConvertedPlan& converted);
// What of the file the plan does not have, a sentence for each reason; part of every answer.
std::vector<std::string> conversion_warnings(const ConvertedPlan& converted);

}  // namespace foreshard
