// The reference of the plan's keys is whole, and docs/plan.md holds it.
#include "models/plan/plan_reference.hpp"

#include <algorithm>
#include <vector>

#include <gtest/gtest.h>

#include "models/plan/plan_keys.hpp"
#include "tests/temporary_folder.hpp"

namespace foreshard {
namespace {

TEST(PlanReference, EveryKeyHasAMeaningAndASection) {
  const auto& sections = plan_sections();
  for (const PlanKey& key : plan_keys()) {
    EXPECT_FALSE(key.meaning.empty()) << key.name();
    EXPECT_FALSE(key.allowed().empty()) << key.name();
    EXPECT_TRUE(std::any_of(sections.begin(), sections.end(), [&](const PlanSection& section) {
      return section.name == key.section() && !section.meaning.empty();
    })) << key.name();
  }
}

TEST(PlanReference, WhatIsOfferedIsAllowed) {
  for (const PlanKey& key : plan_keys()) {
    std::vector<PlanValue> values = key.remedies;
    values.insert(values.end(), key.searched.begin(), key.searched.end());
    for (const OfferedValue& step : key.view.steps) values.push_back(step.value);
    for (const PlanValue& value : values) {
      Plan plan;
      EXPECT_TRUE(key.set_in(plan, value)) << key.name() << " = " << spelt(value);
      EXPECT_EQ(key.value_in(plan), value) << key.name();
    }
  }
}

TEST(PlanReference, WhatIsPrintedIsTheDefaultPlan) {
  const auto plan = parse_plan(commented_default_plan(), "defaults");
  ASSERT_TRUE(plan) << plan.error().text();
  EXPECT_EQ(*plan, Plan());
}

TEST(PlanReference, DocumentationIsUpToDate) {
  EXPECT_EQ(tests::read_file(FORESHARD_SOURCE_DIR "/docs/plan.md"), plan_reference_markdown())
      << "foreshard plan --defaults --markdown -o docs/plan.md writes it";
}

}  // namespace
}  // namespace foreshard
