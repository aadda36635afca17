// No key of a plan is without effect in silence: whatever else a plan may hold instead changes the answer
// or its warnings, or is refused. The keys that say of themselves that they change only what is learned
// are asked for the opposite.
#include "models/plan/plan_keys.hpp"

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <ostream>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "models/plan/plan_rules.hpp"
#include "models/plan/plan_words.hpp"
#include "simulator/predict/prediction.hpp"
#include "tests/small_llama.hpp"

namespace foreshard {
namespace {

constexpr int kRanks = 4;
constexpr int kNodes = 2;

// Large enough for tensors of several segments, and with query groups, so that each choice shows.
LlamaConfig model() {
  LlamaConfig config = tests::small_llama({1024, 2816, 4, 16, 8, 32000});
  config.context = 4096;
  return config;
}

struct Subject {
  const char* name;
  OperatorSetName operators;
  std::optional<ImplementationName> implementation;
  const char* machine;
};
constexpr Subject kSubjects[] = {
    {"foreshard", OperatorSetName::foreshard, {}, "h100-sxm"},
    {"torchtitan", OperatorSetName::pytorch_eager, ImplementationName::torchtitan, "h100-sxm"},
    {"transformers", OperatorSetName::pytorch_eager, ImplementationName::transformers, "h100-sxm"},
    {"compiled", OperatorSetName::pytorch_compile, ImplementationName::torchtitan, "h100-sxm"},
    {"xla", OperatorSetName::xla, {}, "tpu-v5p"},
};

// Plans that between them meet what keys need.
struct Context {
  const char* name;
  void (*set)(Plan&);
};
constexpr Context kContexts[] = {
    {"plain", [](Plan&) {}},
    {"accumulating",
     [](Plan& p) {
       p.batch.accumulation = 2;
       p.checkpointing.mode = CheckpointMode::selective;
       p.optimizer.name = OptimizerName::sgd;
       p.allocator.memory_fraction = p.runtime == RuntimeName::ddp ? 0.05 : 0.02;
       if (p.runtime != RuntimeName::ddp) {
         p.sharding.strategy = Strategy::hybrid_shard;
         p.sharding.shard_group = 2;
         p.offload.parameters = true;
       }
     }},
    {"wrapped by hand",
     [](Plan& p) {
       p.checkpointing.mode =
           describes_pytorch(p.operators) ? CheckpointMode::transformers : CheckpointMode::full;
       p.optimizer.schedule = Schedule::cosine;
       p.optimizer.warmup_steps = 1;
       if (p.runtime == RuntimeName::ddp) return;
       p.wrap.policy = WrapPolicy::modules;
       p.wrap.modules = {{{"model.layers.*"}, false}};
     }},
    {"wrapped by size",
     [](Plan& p) {
       p.checkpointing.mode = CheckpointMode::every;
       p.evaluation.every = describes_pytorch(p.operators) ? 1 : 0;
       if (p.runtime == RuntimeName::ddp) return;
       p.wrap.policy = WrapPolicy::size;
       p.wrap.min_num_params = 5'000'000;
     }},
    {"adapters",
     [](Plan& p) {
       if (!describes_pytorch(p.operators)) return;
       p.lora.rank = 8;
       p.lora.targets = {"q_proj", "v_proj"};
     }},
};

Plan plan_of(const Subject& subject, RuntimeName runtime, const Context& context) {
  Plan plan;
  plan.operators = subject.operators;
  plan.runtime = runtime;
  plan.batch.micro_batch = 1;
  plan.batch.sequence = 1024;
  plan.pytorch.implementation = subject.implementation;
  if (describes_pytorch(plan.operators)) plan.optimizer.kernel = OptimizerKernel::foreach;
  if (runtime == RuntimeName::ddp) plan.precision.param = DType::fp32;
  context.set(plan);
  return plan;
}

// Values of keys whose types allow any text.
const std::map<std::string_view, PlanValue>& named_values() {
  static const std::map<std::string_view, PlanValue> values = {
      {"frozen", PlanList{"model.embed_tokens"}},
      {"wrap.layer_class", PlanList{"LlamaMLP"}},
      {"wrap.modules", PlanList{"model.layers.*", PlanList{"model.norm", "lm_head"}}},
      {"sharding.keep_after_forward", PlanList{"model.layers.1"}},
      {"lora.targets", PlanList{"o_proj"}},
      {"pytorch.version", "2.6"},
      {"pytorch.keep_sharded_in_backward", PlanList{"model.layers.1"}},
      {"pytorch.cublas_workspace_config", ":4096:2:16:8"},
  };
  return values;
}

// Values of which each has an effect of its own, and values of which some have one.
struct Turns {
  std::vector<PlanValue> each, some;
};

Turns turns_of(const PlanKey& key) {
  const AllowedValues& allowed = key.field.allowed;
  Turns turns;
  if (const auto named = named_values().find(key.name()); named != named_values().end()) {
    turns.each.push_back(named->second);
  }
  if (allowed.list == AllowedValues::List::choices) {
    turns.each = {PlanList{}, PlanList{"attention"}, PlanList{"matmul"},
                  PlanList{"attention", "every_second_matmul"}};
    return turns;
  }
  if (allowed.list == AllowedValues::List::pair) {
    turns.some = {PlanList{0.5, 0.5}};
    return turns;
  }
  for (const std::string_view word : allowed.words) turns.each.emplace_back(std::string(word));
  if (allowed.flags) turns.each.insert(turns.each.end(), {true, false});
  if (allowed.integers) {
    for (const std::int64_t n : {0, 1, 2, 3, 4, 8, 30, 128, 1'000'000}) {
      if (allowed.integers->hold(n)) turns.some.emplace_back(n);
    }
  }
  if (allowed.numbers) {
    for (const double x : {0.0, 0.003, 0.25, 0.5, 0.9, 1.0}) {
      if (allowed.numbers->hold(x)) turns.some.emplace_back(x);
    }
  }
  return turns;
}

// "auto" and a key that is not written stand for one of the other values.
bool is_left_to_pytorch(const PlanValue& value) {
  return std::holds_alternative<std::monostate>(value) || value == PlanValue("auto");
}

// Values that say what happens whatever the key's default is.
bool is_what_is_done_anyway(const Plan& plan, const PlanKey& key, const PlanValue& value) {
  const std::string setting = std::string(key.name()) + " = " + spelt(value);
  if (plan.operators == OperatorSetName::xla && setting == "operators = \"foreshard\"") return true;
  if (plan.runtime != RuntimeName::ddp) return false;
  return setting == "wrap.policy = \"none\"" || setting == "precision.reduce = \"gradient\"";
}

// Keys whose values do not differ for every job: where modules are built may leave the same memory behind,
// and the code of two months may be the same once it is compiled.
bool may_coincide(const PlanKey& key) {
  return key.name() == "pytorch.setup" || key.name() == "pytorch.implementation";
}

struct Answer {
  std::vector<std::string> warnings;
  std::vector<std::uint64_t> programs;
  std::vector<std::tuple<std::int64_t, int, std::int64_t, std::int64_t, std::int64_t>> memory;
  std::vector<std::int64_t> host;
  std::int64_t step_time = 0;
  bool fits = true;
  bool operator==(const Answer&) const = default;

  bool says_the_same(const Answer& other) const { return warnings == other.warnings; }
  // But for the warnings.
  bool is_that_of(Answer other) const {
    other.warnings = warnings;
    return *this == other;
  }
};

// Nothing: the plan is refused.
std::optional<Answer> answer(const Plan& plan, const Machine& machine) {
  if (broken_rule(plan)) return std::nullopt;
  const auto job = make_job(model(), plan, "plan", kRanks, kNodes, &machine);
  if (!job) return std::nullopt;
  simulator::PredictionOptions options;
  options.machine = &machine;
  options.wants_band = options.wants_outside = false;
  const simulator::Prediction p = simulator::predict(*job, options);
  Answer answer;
  answer.warnings = p.warnings;
  answer.step_time = p.step_time.count();
  answer.fits = p.fits;
  for (const simulator::RankClass& ranks : p.run.classes) {
    answer.programs.push_back(program_hash(ranks.program));
  }
  for (const simulator::StepPeaks& step : p.steps_memory) {
    answer.memory.emplace_back(step.step, step.rank, step.peaks.active, step.peaks.allocated,
                               step.peaks.reserved);
  }
  for (const simulator::RankPeaks& rank : p.ranks_memory) answer.host.push_back(rank.peak_host);
  return answer;
}

class PlanKeys : public testing::TestWithParam<std::tuple<Subject, RuntimeName>> {};

TEST_P(PlanKeys, NoneIsWithoutEffectInSilence) {
  const auto& [subject, runtime] = GetParam();
  const Machine machine = *load_machine(subject.machine);
  for (const Context& context : kContexts) {
    const Plan plan = plan_of(subject, runtime, context);
    const std::optional<Answer> before = answer(plan, machine);
    if (!before) continue;  // not a plan of this runtime and subject
    for (const PlanKey& key : plan_keys()) {
      SCOPED_TRACE(std::string(context.name) + ": " + std::string(key.name()));
      const auto is_silent = [&](const PlanValue& value) {
        Plan turned = plan;
        EXPECT_TRUE(key.set_in(turned, value));
        const std::optional<Answer> after = answer(turned, machine);
        if (key.is_learning_only != nullptr && key.is_learning_only(plan) &&
            key.is_learning_only(turned)) {
          EXPECT_TRUE(!after || before->is_that_of(*after)) << "is said to change what is learned";
          return false;
        }
        return after == before;
      };
      Turns turns = turns_of(key);
      const PlanValue present = key.value_in(plan);
      const auto is_present = [&](const PlanValue& value) { return value == present; };
      std::erase_if(turns.each, is_present);
      std::erase_if(turns.some, is_present);
      std::erase_if(turns.each, [&](const PlanValue& value) {
        return is_what_is_done_anyway(plan, key, value);
      });
      std::vector<std::string> silent;
      for (const PlanValue& value : turns.each) {
        if (is_silent(value)) silent.push_back(spelt(value));
      }
      if (may_coincide(key)) {
        EXPECT_TRUE(turns.each.empty() || silent.size() < turns.each.size());
      } else {
        EXPECT_LE(silent.size(), is_left_to_pytorch(present) ? 1 : 0)
            << testing::PrintToString(silent);
      }
      EXPECT_TRUE(turns.some.empty() ||
                  !std::all_of(turns.some.begin(), turns.some.end(), is_silent))
          << "each of its numbers";
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Subjects, PlanKeys,
                         testing::Combine(testing::ValuesIn(kSubjects),
                                          testing::Values(RuntimeName::fsdp2, RuntimeName::fsdp1,
                                                          RuntimeName::ddp)),
                         [](const auto& of) {
                           return std::string(std::get<0>(of.param).name) + "_" +
                                  std::string(word(std::get<1>(of.param)));
                         });

}  // namespace
}  // namespace foreshard
