// The search against predictions of every candidate, and its bounds against what they bound.
#include "simulator/search/search.hpp"

#include <algorithm>

#include <gtest/gtest.h>

#include "simulator/predict/prediction.hpp"
#include "simulator/search/bounds.hpp"
#include "simulator/search/default_space.hpp"
#include "simulator/search/fronts.hpp"
#include "simulator/search/verification.hpp"

namespace foreshard::simulator {
namespace {

constexpr const char* kSpace = R"("batch.micro_batch" = [1, 2, 8]
"sharding.reshard_after_forward" = ["auto", false]
"sharding.strategy" = ["full_shard", "hybrid_shard"]
"offload.parameters" = [false, true]
"checkpointing.mode" = ["none", "selective", "full"]
"allocator.expandable_segments" = [false, true]
)";

struct Case {
  Machine h100 = load_machine("h100-sxm").value(), a100 = load_machine("a100-sxm-40").value();
  SearchRequest request;

  Case() {
    request.model = load_llama_config("llama-3.2-1b").value();
    request.base.batch.sequence = 2048;
    request.base_file = "base";
    request.device_memory = 16 * kGiB.count;
    request.space = parse_plan_space(kSpace, "space").value();
    request.targets = {{&h100, 8, 1, 4}, {&a100, 8, 1, 2}, {&h100, 16, 2, 4}};
  }
};

struct Answer {
  double tokens_per_s = 0;
  std::int64_t reserved = 0;
  bool operator==(const Answer&) const = default;
};

std::int64_t reserved_by(const Prediction& prediction) {
  std::int64_t most = 0;
  for (const RankPeaks& rank : prediction.ranks_memory) most = std::max(most, rank.peaks.reserved);
  return most;
}

Prediction predicted(const SearchRequest& request, const Plan& plan, const SearchTarget& target) {
  const Job job = make_job(request.model, plan, "plan", target.gpus, target.nodes).value();
  PredictionOptions options;
  options.machine = target.machine;
  options.device_memory = request.device_memory;
  return predict(job, options);
}

// What every candidate is predicted to reach, each by itself.
std::vector<Answer> by_brute_force(const SearchRequest& request) {
  const Candidates candidates(request.base, "base", request.space, request.tokens_per_step);
  std::vector<Answer> answers;
  for (const SearchTarget& target : request.targets) {
    for (std::size_t n = 0; n < candidates.plans(); ++n) {
      const auto plan = candidates.plan(n, target.gpus);
      if (!plan) continue;
      const Prediction prediction = predicted(request, *plan, target);
      if (prediction.fits) answers.push_back({prediction.tokens_per_s, reserved_by(prediction)});
    }
  }
  return answers;
}

std::vector<Answer> front_of(const std::vector<Answer>& answers) {
  std::vector<Answer> front;
  for (const Answer& a : answers) {
    const bool is_beaten = std::any_of(answers.begin(), answers.end(), [&](const Answer& b) {
      return b.tokens_per_s >= a.tokens_per_s && b.reserved <= a.reserved && !(a == b);
    });
    if (!is_beaten && std::find(front.begin(), front.end(), a) == front.end()) front.push_back(a);
  }
  std::sort(front.begin(), front.end(),
            [](const Answer& a, const Answer& b) { return a.tokens_per_s > b.tokens_per_s; });
  return front;
}

std::vector<Answer> answers_of(const std::vector<FoundPlan>& plans) {
  std::vector<Answer> answers;
  for (const FoundPlan& plan : plans) answers.push_back({plan.tokens_per_s, plan.peak_reserved});
  return answers;
}

void expect_admissible(const PlanBound& bound, const Prediction& prediction, const Plan& plan) {
  EXPECT_GT(bound.step_ns, 0);
  EXPECT_GT(bound.reserved, 0);
  if (!prediction.fits) return;
  EXPECT_LE(bound.step_ns, prediction.step_time.count()) << to_toml(plan);
  EXPECT_GE(bound.tokens_per_s(), prediction.tokens_per_s) << to_toml(plan);
  EXPECT_LE(bound.reserved, reserved_by(prediction)) << to_toml(plan);
}

TEST(Search, FindsWhatPredictingEveryPlanFinds) {
  Case test;
  const auto all = by_brute_force(test.request);
  const SearchAnswer answer = search(test.request).value();
  EXPECT_EQ(answer.considered, 3u * 3 * 2 * 2 * 2 * 3 * 2);
  EXPECT_EQ(answer.fitting, all.size());
  EXPECT_LT(answer.fitting, answer.considered);
  EXPECT_EQ(answers_of(answer.pareto), front_of(all));
  double best = 0;
  for (const Answer& a : all) best = std::max(best, a.tokens_per_s);
  ASSERT_FALSE(answer.top.empty());
  EXPECT_EQ(answer.top.front().tokens_per_s, best);
  EXPECT_TRUE(verify(test.request, answer).has_value());
}

TEST(Search, CutsNothingThatIsAnAnswer) {
  for (const Objective objective : {Objective::tokens_per_s, Objective::cost}) {
    Case test;
    test.request.space = default_space();
    test.request.objective = objective;
    test.request.tokens_per_step = 1 << 18;
    SearchRequest whole = test.request;
    whole.is_exhaustive = true;
    const SearchAnswer cut = search(test.request).value(), all = search(whole).value();
    EXPECT_GT(cut.cut_by_bound, 0u);
    EXPECT_EQ(all.cut_by_bound, 0u);
    EXPECT_EQ(cut.considered, cut.fitting + cut.out_of_memory + cut.cut_by_bound);
    EXPECT_EQ(answers_of(cut.top), answers_of(all.top));
    EXPECT_EQ(answers_of(cut.pareto), answers_of(all.pareto));
    EXPECT_EQ(answers_of(cut.pareto_cost), answers_of(all.pareto_cost));
    for (std::size_t n = 0; n < cut.pareto.size(); ++n) {
      EXPECT_EQ(cut.pareto[n].plan, all.pareto[n].plan);
    }
  }
}

TEST(Search, ItsBoundsAreNeverBeaten) {
  Case test;
  const Candidates candidates(test.request.base, "base", test.request.space, {});
  for (const TargetKind& kind : target_kinds(test.request)) {
    Bounds bounds(test.request, kind, candidates);
    for (std::size_t n = 0; n < candidates.plans(); n += 5) {
      const auto plan = candidates.plan(n, kind.gpus);
      if (!plan) continue;
      const PlanBounds of_targets = bounds.of(candidates.choices(n), *plan);
      for (std::size_t t = 0; t < kind.targets.size(); ++t) {
        const Prediction p = predicted(test.request, *plan, test.request.targets[kind.targets[t]]);
        expect_admissible(of_targets[t], p, *plan);
      }
    }
  }
}

TEST(Search, TheNumberOfThreadsChangesNothing) {
  Case test;
  const SearchAnswer one = search(test.request).value();
  test.request.threads = 3;
  const SearchAnswer three = search(test.request).value();
  EXPECT_EQ(answers_of(one.top), answers_of(three.top));
  EXPECT_EQ(answers_of(one.pareto), answers_of(three.pareto));
  EXPECT_EQ(one.predicted, three.predicted);
}

TEST(Search, ABudgetLeavesOutWhatCostsMore) {
  Case test;
  test.request.train_tokens = 1e9;
  const SearchAnswer all = search(test.request).value();
  const double dearest = *all.pareto_cost.front().usd_per_million_tokens * 1e3;
  test.request.budget_usd = dearest * 0.99;
  const SearchAnswer some = search(test.request).value();
  EXPECT_GT(some.over_budget, 0u);
  for (const FoundPlan& plan : some.top) {
    EXPECT_LE(*plan.usd_per_million_tokens * 1e3, *test.request.budget_usd);
  }
}

TEST(Search, TellsWhyNoCombinationIsAPlan) {
  Case test;
  test.request.space =
      parse_plan_space(
          "\"sharding.shard_group\" = [3]\n\"sharding.strategy\" = [\"hybrid_shard\"]\n", "space")
          .value();
  const auto answer = search(test.request);
  ASSERT_FALSE(answer.has_value());
  EXPECT_EQ(answer.error().field, "sharding.shard_group");
}

TEST(ParetoFront, HasWhatNoOtherPointBeats) {
  const auto front = pareto_front({{1, 1, 0}, {3, 3, 1}, {2, 3, 2}, {3, 3, 3}, {2, 2, 4}});
  ASSERT_EQ(front.size(), 3u);
  EXPECT_EQ(front[0].index, 1u);
  EXPECT_EQ(front[1].index, 4u);
  EXPECT_EQ(front[2].index, 0u);
  Front growing;
  growing.add(2, 2);
  growing.add(3, 3);
  EXPECT_TRUE(growing.beats(2.5, 3));
  EXPECT_FALSE(growing.beats(2.5, 2));
  EXPECT_FALSE(growing.beats(3, 9));
}

}  // namespace
}  // namespace foreshard::simulator
