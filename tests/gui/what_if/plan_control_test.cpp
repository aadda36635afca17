#include "gui/models/what_if/plan_control.hpp"

#include <algorithm>
#include <set>

#include <gtest/gtest.h>

namespace foreshard::gui {
namespace {

TEST(PlanControl, EveryKeyHasOneWithAMeaning) {
  std::multiset<std::string> keys;
  for (const ControlSection& section : plan_controls()) {
    for (const PlanControl& control : section.controls) {
      keys.insert(control.key);
      EXPECT_FALSE(control.label.isEmpty()) << control.key;
      EXPECT_FALSE(control.tooltip.isEmpty()) << control.key;
    }
  }
  const SpeltPlan plan;
  EXPECT_EQ(keys.size(), plan.keys().size());
  for (const SpeltKey& key : plan.keys()) EXPECT_EQ(keys.count(key.name), 1U) << key.name;
}

TEST(PlanControl, EveryChoiceIsAValueThatPlansCanHold) {
  for (const ControlSection& section : plan_controls()) {
    for (const PlanControl& control : section.controls) {
      if (control.kind == ControlKind::outputs) continue;
      for (const ControlChoice& choice : control.choices) {
        SpeltPlan plan;
        plan.set(control.key, choice.value);
        const Result<Plan> parsed = plan.plan();
        // A choice may contradict other keys, which names one of them, but it is always spelt
        // right.
        if (!parsed) {
          EXPECT_EQ(parsed.error().message.find("expected one"), std::string::npos)
              << control.key << ": " << parsed.error().message;
          continue;
        }
        EXPECT_EQ(SpeltPlan(*parsed).value(control.key), choice.value) << control.key;
      }
    }
  }
}

TEST(PlanControl, ADefaultIsAmongTheChoices) {
  const SpeltPlan plan;
  for (const ControlSection& section : plan_controls()) {
    for (const PlanControl& control : section.controls) {
      if (control.choices.empty() || control.kind == ControlKind::outputs) continue;
      EXPECT_EQ(control.choices_with(plan.value(control.key)).size(), control.choices.size())
          << control.key;
    }
  }
}

TEST(PlanControl, AValueBetweenNotchesStandsBetweenThem) {
  const PlanControl* control = control_of("batch.micro_batch");
  const auto choices = control->choices_with("5");
  const auto place = std::find_if(choices.begin(), choices.end(),
                                  [](const ControlChoice& c) { return c.value == "5"; });
  ASSERT_NE(place, choices.end());
  EXPECT_EQ(std::prev(place)->value, "4");
  EXPECT_EQ(std::next(place)->value, "6");
}

TEST(SpeltPlan, ReadsBackEqual) {
  Plan plan;
  plan.batch.micro_batch = 3;
  plan.wrap.policy = WrapPolicy::modules;
  plan.wrap.modules = {{{"model.layers.*"}, false}, {{"model.norm", "lm_head"}, true}};
  plan.prefetch.backward.reset();
  plan.pytorch.cublas_workspace_config = ":4096:8";
  plan.operators = OperatorSetName::pytorch_eager;
  const Result<Plan> back = SpeltPlan(plan).plan();
  ASSERT_TRUE(back) << back.error().text();
  EXPECT_EQ(*back, plan);
}

TEST(SpeltPlan, WhatBreaksARuleNamesTheKey) {
  SpeltPlan plan;
  plan.set("batch.micro_batch", "0");
  const Result<Plan> parsed = plan.plan();
  ASSERT_FALSE(parsed);
  EXPECT_EQ(parsed.error().field, "batch.micro_batch");
}

}  // namespace
}  // namespace foreshard::gui
