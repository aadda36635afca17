// Spaces of plans: what their files say, and what they must not.
#include "models/plan/plan_space.hpp"

#include <gtest/gtest.h>

namespace foreshard {
namespace {

TEST(PlanSpace, HasTheValuesOfEachKey) {
  const auto space = parse_plan_space(
      "\"checkpointing.mode\" = [\"none\", \"full\"]\n\"batch.micro_batch\" = [1, 2, 4]\n", "f");
  ASSERT_TRUE(space.has_value());
  ASSERT_EQ(space->size(), 2u);
  EXPECT_EQ((*space)[0].name, "batch.micro_batch") << "in the order of a plan's keys";
  ASSERT_EQ((*space)[0].choices.size(), 3u);
  Plan plan;
  for (const PlanSetting& setting : (*space)[0].choices[2]) setting.set_in(plan);
  EXPECT_EQ(plan.batch.micro_batch, 4);
  for (const PlanSetting& setting : (*space)[1].choices[1]) setting.set_in(plan);
  EXPECT_EQ(plan.checkpointing.mode, CheckpointMode::full);
}

TEST(PlanSpace, HasKeysThatVaryTogether) {
  const auto space = parse_plan_space(
      "variant = [{}, {\"offload.parameters\" = true, \"prefetch.forward\" = 2}]\n", "f");
  ASSERT_TRUE(space.has_value());
  const PlanAxis& axis = space->at(0);
  EXPECT_EQ(axis.name, "variant");
  EXPECT_TRUE(sets(axis, "offload.parameters"));
  EXPECT_TRUE(sets(axis, "prefetch.forward"));
  EXPECT_FALSE(sets(axis, "prefetch.backward"));
  EXPECT_TRUE(axis.choices.at(0).empty());
  Plan plan;
  for (const PlanSetting& setting : axis.choices.at(1)) setting.set_in(plan);
  EXPECT_TRUE(plan.offload.parameters);
  EXPECT_EQ(plan.prefetch.forward, 2);
}

TEST(PlanSpace, EveryKeyCanVary) {
  for (const SpeltKey& key : spelt_keys(Plan{})) {
    if (key.value.empty()) continue;  // one that has no value unless it is set
    const auto space = parse_plan_space("\"" + key.name + "\" = [" + key.value + "]\n", "f");
    ASSERT_TRUE(space.has_value()) << key.name << ": " << space.error().text();
    Plan plan;
    space->at(0).choices.at(0).at(0).set_in(plan);
    EXPECT_EQ(plan, Plan{}) << key.name;
    EXPECT_EQ(space->at(0).choices[0][0].spelt_value(), key.value);
  }
}

TEST(PlanSpace, NamesWhatIsWrongAndWhere) {
  struct Wrong {
    const char *text, *file, *field, *word;
  };
  for (const Wrong& wrong : {
           Wrong{"variant = [{\"offload.parameter\" = true}]", "f:1", "variant.offload.parameter",
                 "offload.parameters"},
           Wrong{"variant = [{\"batch.micro_batch\" = 0}]", "f:1", "batch.micro_batch", "0"},
           Wrong{"variant = [{}, 3]", "f:1", "variant", "not a key"},
           Wrong{"\"batch.micro_batch\" = [1]\nv = [{\"batch.micro_batch\" = 2}]", "f", "v",
                 "batch.micro_batch"},
           Wrong{"\"batch.micro_batch\" = 4", "f:1", "batch.micro_batch", "expected a list"},
       }) {
    const auto space = parse_plan_space(wrong.text, "f");
    ASSERT_FALSE(space.has_value()) << wrong.text;
    EXPECT_EQ(space.error().file, wrong.file);
    EXPECT_EQ(space.error().field, wrong.field);
    EXPECT_NE(space.error().message.find(wrong.word), std::string::npos) << space.error().text();
  }
}

}  // namespace
}  // namespace foreshard
