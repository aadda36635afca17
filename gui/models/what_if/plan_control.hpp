// What control each key of a plan has: made from the list of plan keys, so that a key that is added
// there has one here. Values are spelt as a plan file spells them.
#pragma once

#include <QString>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "gui/models/what_if/spelt_plan.hpp"

namespace foreshard::gui {

enum class ControlKind : std::uint8_t {
  slider,   // notches on a track
  choice,   // one of a few words
  toggle,   // on or off
  field,    // a number or text that is typed
  outputs,  // any of a few words: checkpointing.save
  modules,  // a tree of modules: wrap.modules
};

struct ControlChoice {
  QString text;       // "1k"
  std::string value;  // "1024"
};

struct PlanControl {
  std::string key;     // "batch.micro_batch"
  QString label;       // "Micro-batch"
  QString full_label;  // the same away from its section: "Prefetch forward"
  QString tooltip;     // what the key means and allows
  ControlKind kind = ControlKind::field;
  std::vector<ControlChoice> choices;  // notches, words
  bool is_text = false;                // of a field: typed without quotes

  // Its choices, with that value among them wherever it belongs.
  std::vector<ControlChoice> choices_with(const std::string& value) const;
};

struct ControlSection {
  QString title;
  bool is_open = false;  // at first
  std::vector<PlanControl> controls;
};

// Every key of a plan, once.
const std::vector<ControlSection>& plan_controls();
const PlanControl* control_of(std::string_view key);

// What stands beside a folded section's title: "16,384 tokens a rank", "bf16, fp32 reduce".
QString section_summary(const ControlSection& section, const SpeltPlan& plan);

// "micro-batch 2", as variants and changes are called.
QString change_text(const std::string& key, const SpeltPlan& plan);

}  // namespace foreshard::gui
