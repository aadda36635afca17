// How a plan divides a model into units and ranks into classes, and which of its settings count.
#include <algorithm>

#include <gtest/gtest.h>

#include "models/base/assertion.hpp"
#include "models/lowering/lower.hpp"
#include "models/plan/plan_keys.hpp"
#include "models/program/oom_report.hpp"
#include "models/program/step_program.hpp"
#include "tests/models/lowering/program_checks.hpp"
#include "tests/small_llama.hpp"

namespace foreshard {
namespace {

using Names = std::vector<std::string>;

Job job_of(const std::string& toml, const LlamaConfig& model, int ranks, int nodes = 0) {
  const auto plan = parse_plan(toml, "plan.toml");
  EXPECT_TRUE(plan) << (plan ? "" : plan.error().text());
  auto job = make_job(model, plan.value_or(Plan{}), "plan.toml", ranks, nodes);
  EXPECT_TRUE(job) << (job ? "" : job.error().text());
  return *job;
}

LlamaConfig three_layers() {
  return tests::small_llama({32, 48, 3, 2, 1, 64});
}

TEST(UnitName, TellsTheRootFromNoUnit) {
  RankProgram program;
  program.programs.resize(2);
  program.units = {UnitLayout{}, UnitLayout{"model.layers.0", {}, 0, 0, 0}};
  program.programs[1].instructions.resize(3);
  const std::vector<std::string> names = {"", "root", "model.layers.0"};
  for (UnitId unit = kNone; unit < 2; ++unit) {
    const auto at = static_cast<std::size_t>(unit - kNone);
    program.programs[1].instructions[at].unit = unit;
    EXPECT_EQ(unit_name(program, unit), names[at]);
    EXPECT_EQ(oom_report(program, 1, unit - kNone, 0, {}).unit, names[at]);
  }
}

Names unit_names(const std::string& modules) {
  Names names;
  const std::string toml = "[wrap]\npolicy = \"modules\"\nmodules = " + modules + "\n";
  for (const Unit& unit : job_of(toml, three_layers(), 2).units) names.push_back(unit.name);
  return names;
}

TEST(Units, AGlobMakesAUnitOfEachMatchAndAListOfAllItsMatches) {
  EXPECT_EQ(unit_names(R"(["model.layers.*"])"),
            (Names{"", "model.layers.0", "model.layers.1", "model.layers.2"}));
  EXPECT_EQ(unit_names(R"([["model.layers.*"]])"),
            (Names{"", "model.layers.0, model.layers.1, model.layers.2"}));
}

TEST(Units, AListKeepsItsOrder) {
  EXPECT_EQ(unit_names(R"([["lm_head", "model.norm"], "model.layers.1"])"),
            (Names{"", "model.layers.1", "lm_head, model.norm"}));
  const Job job = job_of("[wrap]\npolicy = \"modules\"\nmodules = [[\"lm_head\", \"model.norm\"]]",
                         three_layers(), 2);
  Names parameters;
  for (const ParameterId p : job.units[1].parameters) {
    parameters.push_back(job.tree.parameters[static_cast<std::size_t>(p)].name);
  }
  EXPECT_EQ(parameters, (Names{"lm_head.weight", "model.norm.weight"}));
}

TEST(Units, APlanWithListsIsWrittenAsItWasRead) {
  const std::string modules =
      R"([["model.layers.*"], "lm_head", ["model.norm", "model.embed_tokens"]])";
  const auto plan = parse_plan("[wrap]\nmodules = " + modules, "plan.toml");
  ASSERT_TRUE(plan);
  EXPECT_NE(to_toml(*plan).find("modules = " + modules), std::string::npos) << to_toml(*plan);
}

TEST(Units, AModuleThatIsWrappedTwiceIsAnError) {
  const auto plan = parse_plan(
      "[wrap]\npolicy = \"modules\"\nmodules = [[\"model.norm\", \"model.no*\"]]", "plan.toml");
  ASSERT_TRUE(plan);
  const auto job = make_job(three_layers(), *plan, "plan.toml", 2);
  ASSERT_FALSE(job);
  EXPECT_NE(job.error().text().find("'model.norm'"), std::string::npos) << job.error().text();
}

// 1,300 layers in one unit: the optimizer's instruction names 11,702 parameters with three tensors
// each and a gradient.
TEST(Units, AUnitMayHoldTensOfThousandsOfParameters) {
  const Job job = job_of("[batch]\nmicro_batch = 1\nsequence = 2\n[wrap]\npolicy = \"none\"\n",
                         tests::small_llama({2, 2, 1300, 1, 1, 4}), 2);
  const RankProgram program = lower(job, 0);
  const auto parameters = static_cast<std::int32_t>(job.tree.parameters.size());
  ASSERT_GT(3 * parameters, 32'767);
  const auto adamw = std::find_if(
      program.programs[2].instructions.begin(), program.programs[2].instructions.end(),
      [&](const Instruction& i) {
        return i.kind == Kind::launch &&
               program.cost_keys[static_cast<std::size_t>(i.cost_key)].op == Operator::adamw;
      });
  ASSERT_NE(adamw, program.programs[2].instructions.end());
  EXPECT_EQ(adamw->writes, 3 * parameters);
  EXPECT_EQ(program.programs[2].writes(*adamw).size(), static_cast<std::size_t>(3 * parameters));
}

TEST(Units, MoreUnitsThanSixteenBitsCount) {
  const Job job = job_of(
      "[batch]\nmicro_batch = 1\nsequence = 2\n[wrap]\npolicy = \"size\"\n"
      "min_num_params = 1\n",
      tests::small_llama({2, 2, 4000, 1, 1, 4}), 2);
  ASSERT_GT(job.units.size(), 32'768u);
  const RankProgram program = lower(job, 0);
  UnitId last = 0;
  for (const Instruction& i : program.programs[2].instructions) {
    ASSERT_GE(i.unit, kNone);
    last = std::max(last, i.unit);
  }
  EXPECT_EQ(last, static_cast<UnitId>(job.units.size()) - 1);
}

TEST(AssertionDeathTest, NarrowingThatDoesNotFitStopsTheProgram) {
  EXPECT_EQ(narrow<std::int16_t>(-5), -5);
  EXPECT_DEATH(narrow<std::int16_t>(40'000), "internal error: .*units_test.cpp.*does not fit");
  EXPECT_DEATH(narrow<std::uint8_t>(-1), "does not fit");
}

// Twelve ranks on nodes of eight, in shard groups of six: ranks 6 to 11 stand on two nodes.
TEST(RankClasses, TellRanksWhoseGroupsStraddleNodesFromThoseWhoseDoNot) {
  const LlamaConfig model = tests::small_llama({48, 96, 1, 2, 1, 96});  // rows that 6 divides
  const Job job = job_of("[sharding]\nstrategy = \"hybrid_shard\"\nshard_group = 6\n", model, 12);
  EXPECT_EQ(rank_classes(job, 0), std::vector<int>(12, 0));
  EXPECT_EQ(rank_classes(job, 12), std::vector<int>(12, 0));
  const std::vector<int> classes = rank_classes(job, 8);
  // The replica of rank r is rank r + 6: for ranks 0 and 1 it is on the same node.
  EXPECT_EQ(classes, (std::vector<int>{0, 0, 2, 2, 2, 2, 6, 6, 8, 8, 8, 8}));
}

TEST(RankClasses, AreOneWhereGroupsLieInNodes) {
  const LlamaConfig model = tests::small_llama({64, 128, 1, 2, 1, 64});
  const Job job = job_of("[sharding]\nstrategy = \"hybrid_shard\"\nshard_group = 8\n", model, 32);
  EXPECT_EQ(rank_classes(job, 8), std::vector<int>(32, 0));
}

Names without_effect(const std::string& toml) {
  const auto plan = parse_plan(toml, "plan.toml");
  EXPECT_TRUE(plan) << (plan ? "" : plan.error().text());
  Names keys;
  for (const std::string& warning : settings_without_effect(plan.value_or(Plan{}))) {
    keys.push_back(warning.substr(0, warning.find(' ')));
  }
  return keys;
}

TEST(Effects, AnEmptyPlanHasNone) {
  EXPECT_EQ(without_effect(""), Names{});
}

TEST(Effects, KeysOfOtherOperatorsRuntimesAndPoliciesAreNamed) {
  EXPECT_EQ(without_effect("[offload]\npin_memory = false\n"), Names{"offload.pin_memory"});
  EXPECT_EQ(without_effect("[prefetch]\nforward_prefetch = true\nbackward_prefetch = \"post\"\n"
                           "limit_all_gathers = false\nforward = 1\n"),
            (Names{"prefetch.forward_prefetch", "prefetch.backward_prefetch",
                   "prefetch.limit_all_gathers"}));
  EXPECT_EQ(without_effect("[pytorch]\nlogits = \"bf16\"\nzero_grad = \"zeros\"\n"
                           "async_unshard = true\nkeep_sharded_in_backward = [\"model.layers.0\"]\n"
                           "bucket_cap_mb = 3\n"),
            (Names{"pytorch.logits", "pytorch.zero_grad", "pytorch.bucket_cap_mb"}));
  EXPECT_EQ(without_effect("[wrap]\nmin_num_params = 5\nmodules = [\"lm_head\"]\n"),
            (Names{"wrap.min_num_params", "wrap.modules"}));
  EXPECT_EQ(without_effect("[checkpointing]\nevery = 3\nsave = [\"attention\"]\nfraction = 0.5\n"),
            (Names{"checkpointing.every", "checkpointing.save", "checkpointing.fraction"}));
  EXPECT_EQ(without_effect("operators = \"pytorch-eager\"\n[pytorch]\ncompile = \"model\"\n"),
            Names{"pytorch.compile"});
  EXPECT_EQ(without_effect("[batch]\ngradient_sync = \"last\"\nall_reduce = \"last\"\n"),
            (Names{"batch.gradient_sync", "batch.all_reduce"}));
}

TEST(Effects, KeysThatCountAreNotNamed) {
  EXPECT_EQ(without_effect("runtime = \"fsdp1\"\noperators = \"pytorch-eager\"\n[prefetch]\n"
                           "limit_all_gathers = false\n[pytorch]\ngpu_timing = \"late\"\n"),
            Names{});
  EXPECT_EQ(without_effect("[batch]\naccumulation = 2\nall_reduce = \"last\"\n[sharding]\n"
                           "strategy = \"hybrid_shard\"\nshard_group = 2\n"),
            Names{});
}

TEST(Effects, KeepingAModuleThatIsNoUnitIsNamed) {
  const auto warnings = [](const std::string& glob) {
    return job_of("[sharding]\nkeep_after_forward = [\"" + glob + "\"]\n", three_layers(), 2)
        .warnings;
  };
  EXPECT_TRUE(warnings("model.layers.1").empty());
  ASSERT_EQ(warnings("model.layers.1.mlp").size(), 1u);
  EXPECT_NE(warnings("model.layers.1.mlp")[0].find("'model.layers.1.mlp'"), std::string::npos);
}

}  // namespace
}  // namespace foreshard
