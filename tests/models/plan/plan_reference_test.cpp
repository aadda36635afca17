// The reference of the plan's keys is whole, and docs/plan.md holds it.
#include "models/plan/plan_reference.hpp"

#include <set>

#include <gtest/gtest.h>

#include "tests/temporary_folder.hpp"

namespace foreshard {
namespace {

TEST(PlanReference, EveryKeyAndSectionHasAMeaning) {
  std::set<std::string> keys;
  for (const PlanKeyReference& key : plan_reference()) {
    const std::string name = key.section + (key.section.empty() ? "" : ".") + key.key;
    keys.insert(name);
    EXPECT_FALSE(key.meaning.empty()) << name << ": missing in plan_meanings.cpp";
    EXPECT_FALSE(key.allowed.empty()) << name;
    EXPECT_FALSE(section_meaning(key.section).empty()) << key.section;
  }
  for (const std::string_view name : described_keys()) {
    EXPECT_TRUE(keys.contains(std::string(name))) << name << " is not a key of a plan";
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
