// The plan file's keys, one row each: the field, what it may hold and means, who reads it, and how it is
// offered. Reader, writer, reference, warnings, the viewer's controls, remedies and the search's default
// space come from these rows.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "models/plan/plan.hpp"
#include "models/plan/plan_value.hpp"

namespace foreshard {

// Bounds beyond anything that can be trained, so that byte counts stay within 64 bits.
constexpr std::int64_t kMaxSequences = 1 << 20;
constexpr std::int64_t kMaxTokens = 1 << 24;  // of a rank's micro-step, and so of a sequence
constexpr std::int64_t kMaxAccumulation = 4096;
constexpr std::int64_t kMaxRanks = 1 << 20;
constexpr std::int64_t kMaxSteps = 1'000'000'000'000;

// The field behind a key, whatever its type.
struct PlanField {
  std::string_view name;  // "section.key"; "key" at the top of the file
  AllowedValues allowed;
  PlanValue (*value_of)(const Plan&);
  bool (*take)(Plan&, const PlanValue&, const AllowedValues&);
  std::string_view nothing;  // the word of a field that holds nothing
};

// What a plan has to be for a key to be read.
struct PlanNeed {
  bool (*is_met)(const Plan&);
  std::string_view text;  // "runtime \"fsdp1\""
};

// A value that is offered, and how it is shown where that is not as a plan file spells it.
struct OfferedValue {
  PlanValue value;
  std::string_view text = {};
};

// How the viewer shows a key.
struct PlanKeyView {
  std::string_view label = {};           // beside its section; empty: the name's words
  std::string_view full_label = {};      // away from it; empty: the label
  std::vector<OfferedValue> steps = {};  // instead of what the type offers
  bool slides = false;
};

struct PlanKey {
  PlanField field;
  std::string_view meaning;
  std::string_view unit = {};
  std::vector<PlanNeed> needs = {};  // all of them
  // Under which plans the key decides only what is learned, neither memory nor time; null: under none.
  bool (*is_learning_only)(const Plan&) = nullptr;
  PlanKeyView view = {};
  std::vector<PlanValue> remedies = {};  // values that may save memory
  std::vector<PlanValue> searched = {};  // in the default space of a search

  std::string_view name() const { return field.name; }
  std::string_view section() const;  // empty at the top of the file
  std::string_view short_name() const;
  std::string allowed() const;  // "an integer from 1 to 4096 (steps)"

  PlanValue value_in(const Plan& plan) const;
  // Whether the value is allowed; the plan stays as it is where not.
  bool set_in(Plan& plan, const PlanValue& value) const;

  // What the plan lacks for the key to be read, "a and b"; empty where it is read.
  std::string missing_in(const Plan& plan) const;
};

// In the order of the file.
const std::vector<PlanKey>& plan_keys();
const PlanKey* find_plan_key(std::string_view name);

struct PlanSection {
  std::string_view name, meaning;
};
const std::vector<PlanSection>& plan_sections();

// A key with a value that it may have, such as `sharding.strategy = "hybrid_shard"`.
struct PlanSetting {
  const PlanKey* key;
  PlanValue value;

  void set_in(Plan& plan) const { key->set_in(plan, value); }
  std::string spelt_value() const { return spelt(value); }
};

// The keys that are not at their defaults, in the order of the file.
std::vector<SpeltKey> changed_keys(const Plan& plan);

// One sentence, "KEY = VALUE has no effect ...", for each of them that nothing reads under this plan.
// What depends on the model is in models/sharding.
std::vector<std::string> settings_without_effect(const Plan& plan);

}  // namespace foreshard
