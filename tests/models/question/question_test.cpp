// A question is the same wherever it is stored, and the subject decides what nobody said.
#include <string>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <rapidcheck/gtest.h>

#include "models/question/asked.hpp"
#include "models/question/question_json.hpp"
#include "models/question/question_text.hpp"
#include "models/sharding/cuda_device.hpp"
#include "models/sharding/job.hpp"
#include "tests/models/plan/random_plan.hpp"

namespace foreshard {
namespace {

using nlohmann::json;

Result<DeviceTraits> no_gpu(const std::string&, const std::optional<Machine>&) {
  return DeviceTraits{};
}

Asked asked_of(const std::string& model, int ranks, const std::string& machine,
               const std::string& plan = "") {
  Asked asked;
  asked.model = model;
  asked.ranks = ranks;
  asked.machine = machine;
  if (!plan.empty()) asked.plan = *parse_any_plan(plan, "plan.toml");
  return asked;
}

Question question(const Asked& asked) {
  const auto made = question_of(asked, {}, no_gpu);
  EXPECT_TRUE(made) << made.error().text();
  return made.value_or(Question{});
}

TEST(Question, OnAGpuItIsPyTorchAndOneLongSequence) {
  const Question q = question(asked_of("llama-3.1-8b", 16, "h100-sxm"));
  EXPECT_EQ(q.plan.operators, OperatorSetName::pytorch_eager);
  EXPECT_EQ(q.plan.optimizer.kernel, OptimizerKernel::foreach);
  EXPECT_EQ(q.plan.batch.micro_batch, 1);
  EXPECT_EQ(q.plan.batch.sequence, 8192);
  EXPECT_EQ(node_count(q), 2);
  EXPECT_EQ(question(asked_of("llama-2-7b", 8, "h200")).plan.batch.sequence, 4096)
      << "the model's longest";
}

TEST(Question, OnATpuItIsXla) {
  const Question q = question(asked_of("llama-2-7b", 4, "tpu-v5p"));
  EXPECT_EQ(q.plan.operators, OperatorSetName::xla);
  EXPECT_EQ(q.plan.batch.micro_batch, 1);
}

TEST(Question, OnThisMachineItIsForeshardsTraining) {
  const Question q = question(asked_of("llama-small-14m", 2, ""));
  EXPECT_EQ(q.plan, Plan{});
  EXPECT_EQ(node_count(q), 1);
}

TEST(Question, OnThisMachinesGpuNoCpuIsAssumed) {
  Question q = question(asked_of("llama-small-14m", 2, ""));
  EXPECT_EQ(assumptions(*make_job(q, "plan.toml")),
            std::vector<std::string>{"a CPU like this one"});
  q.own_device = cuda_device(90, 132);
  EXPECT_TRUE(assumptions(*make_job(q, "plan.toml")).empty());
}

TEST(Question, WhatAPlanWritesHolds) {
  const Question q = question(asked_of("llama-3.1-8b", 8, "h100-sxm",
                                       "operators = \"foreshard\"\n[batch]\nsequence = 512\n"));
  EXPECT_EQ(q.plan.operators, OperatorSetName::foreshard);
  EXPECT_EQ(q.plan.batch.sequence, 512);
  EXPECT_EQ(q.plan.batch.micro_batch, 4) << "Foreshard's default";
}

TEST(Question, OperatorsOfCostsAreTheSubject) {
  const RecordedBy recorded{*load_machine("h100-sxm"), OperatorSetName::foreshard};
  const auto made = question_of(asked_of("llama-3.2-1b", 8, ""), recorded, no_gpu);
  ASSERT_TRUE(made);
  EXPECT_EQ(made->plan.operators, OperatorSetName::foreshard);
  EXPECT_EQ(made->machine_id, "") << "nobody named it";
}

TEST(Question, NodesHoldTheRanks) {
  Asked asked = asked_of("llama-3.2-1b", 16, "h100-sxm");
  asked.nodes = 1;
  const auto made = question_of(asked, {}, no_gpu);
  ASSERT_FALSE(made);
  EXPECT_NE(made.error().text().find("expected at least 2 nodes"), std::string::npos)
      << made.error().text();
}

TEST(Question, JsonHasEveryKeyOfAPlanAsItIsUsed) {
  const json q = json::parse(question_json(question(asked_of("llama-3.1-8b", 8, "h100-sxm"))));
  EXPECT_EQ(q["operators"], "pytorch-eager");
  EXPECT_EQ(q["device"], "cuda");
  EXPECT_EQ(q["tokens_per_step"], 8 * 8192);
  EXPECT_EQ(q["costs"], nullptr);
  EXPECT_EQ(q["pytorch"]["implementation"], "torchtitan");
  for (const PlanKey& key : plan_keys()) {
    const json& section = key.section().empty() ? q["plan"] : q["plan"][std::string(key.section())];
    EXPECT_TRUE(section.contains(std::string(key.short_name()))) << key.name();
  }
}

TEST(Question, WordsSayWhatWasAsked) {
  const Question q =
      question(asked_of("llama-3.1-8b", 16, "h100-sxm", "[checkpointing]\nmode = \"full\"\n"));
  EXPECT_EQ(
      question_line(q),
      "llama-3.1-8b, PyTorch 2.11 eager (torchtitan), FSDP2, 16 ranks on 2 nodes of h100-sxm, "
      "micro-batch 1, sequence 8192; checkpointing.mode = \"full\".");
}

TEST(Question, QuestionsThatDifferHaveListsWhereTheyDo) {
  const std::string one = question_json(question(asked_of("llama-3.1-8b", 8, "h100-sxm"))),
                    two = question_json(question(asked_of("llama-3.1-8b", 8, "h200")));
  const json merged = json::parse(merged_question_json({one, two, one}));
  EXPECT_EQ(merged["machine"], json::array({"h100-sxm", "h200"}));
  EXPECT_EQ(merged["ranks"], 8);
  EXPECT_EQ(merged["plan"]["batch"]["sequence"], 8192);
  EXPECT_EQ(merged_question_json({one}), one);
}

struct BadQuestion {
  const char *pointer, *value, *complaint;
};

class BadQuestions : public testing::TestWithParam<BadQuestion> {};

TEST_P(BadQuestions, NameTheKey) {
  json q = json::parse(question_json(question(asked_of("llama-3.1-8b", 8, "h100-sxm"))));
  q[json::json_pointer(GetParam().pointer)] = json::parse(GetParam().value);
  const auto parsed = parse_question(json{{"question", q}}.dump(), "answer.json");
  ASSERT_FALSE(parsed);
  EXPECT_NE(parsed.error().text().find(GetParam().complaint), std::string::npos)
      << parsed.error().text();
}

INSTANTIATE_TEST_SUITE_P(
    All, BadQuestions,
    testing::Values(
        BadQuestion{"/ranks", "0", "question.ranks: is 0; expected an integer from 1 to 1000000"},
        BadQuestion{"/model", "null", "question.model: is missing; expected a text"},
        BadQuestion{"/plan/batch/sequence", "-1", "question.plan.batch.sequence: is -1; expected"},
        BadQuestion{"/plan/batch/length", "1", "question.plan.batch.length: is 1; expected"},
        BadQuestion{"/plan", "[]", "question.plan: is []; expected an object"},
        BadQuestion{"/sequence", "1", "question.sequence: is 1; expected what plan.batch.sequence"},
        BadQuestion{"/steps", "3", "question.steps: is no key of a question"}));

TEST(Question, WhatIsNoResultIsRefused) {
  for (const char* text : {"", "[]", "{", "{\"ranks\": 3}", "{\"question\": 3}"}) {
    EXPECT_FALSE(parse_question(text, "file")) << text;
  }
}

// Whatever plan there is: its question reads back as the same question.
RC_GTEST_PROP(QuestionProperty, SurvivesItsJson, ()) {
  Asked asked = asked_of("llama-3.2-1b", *rc::gen::inRange(1, 65),
                         *rc::gen::element<std::string>("", "h100-sxm", "h200", "mi300x"));
  asked.plan.plan = *arbitrary_plan();
  asked.plan.name = "drawn";
  for (const PlanKey& key : plan_keys()) asked.plan.written.push_back({std::string(key.name()), 0});
  const auto first = question_of(asked, {}, no_gpu);
  RC_PRE(first.has_value());
  const auto stored = parse_question(question_json(*first), "stored");
  RC_ASSERT(stored.has_value());
  const auto again = question_of(*stored, {}, no_gpu);
  RC_ASSERT(again.has_value());
  RC_ASSERT(question_json(*again) == question_json(*first));
  RC_ASSERT(node_count(*again) == node_count(*first));
  Plan plan = again->plan;
  plan.pytorch.implementation = first->plan.pytorch.implementation;  // as it is, where not written
  RC_ASSERT(plan == first->plan);
}

}  // namespace
}  // namespace foreshard
