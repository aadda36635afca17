// The search against predictions of every candidate, by itself each.
#include "simulator/search/search.hpp"

#include <algorithm>
#include <barrier>
#include <map>
#include <regex>
#include <set>
#include <thread>

#include <gtest/gtest.h>

#include "simulator/search/candidates.hpp"
#include "simulator/search/default_space.hpp"
#include "simulator/search/fronts.hpp"
#include "simulator/search/search_report.hpp"
#include "simulator/search/verification.hpp"
#include "tests/property/random_job.hpp"
#include "tests/simulator/search/brute_force.hpp"

namespace foreshard::simulator {
namespace {

constexpr const char* kSpace = R"("batch.micro_batch" = [1, 2, 8]
"offload.parameters" = [false, true]
"checkpointing.mode" = ["none", "selective", "full"]
"allocator.expandable_segments" = [false, true]
sharding = [
  {},
  {"sharding.reshard_after_forward" = false},
  {"sharding.strategy" = "hybrid_shard"},
  {"sharding.strategy" = "hybrid_shard", "sharding.reshard_after_forward" = false},
]
)";

struct Case {
  Machine h100 = load_machine("h100-sxm").value(), a100 = load_machine("a100-sxm-40").value();
  SearchRequest request;

  Case() {
    request.base.model = load_llama_config("llama-3.2-1b").value();
    request.base.plan.batch.sequence = 2048;
    request.base_file = "base";
    request.device_memory = 16 * kGiB.count;
    request.space = parse_plan_space(kSpace, "space").value();
    request.targets = {{&h100, 8, 1, {32}}, {&a100, 8, 1, {16}}, {&h100, 16, 2, {64}}};
  }
};

void expect_what_brute_force_finds(const SearchRequest& request) {
  const auto all = by_brute_force(request);
  const auto answer = search(request);
  ASSERT_TRUE(answer.has_value()) << answer.error().text();
  EXPECT_EQ(answer->considered, answer->fitting + answer->out_of_memory + answer->cut_by_bound);
  EXPECT_EQ(answers_of(answer->pareto), front_of(all, &Answer::reserved));
  EXPECT_EQ(answers_of(answer->pareto_cost).size(), front_of(all, &Answer::usd).size());
  EXPECT_EQ(answer->top.empty(), all.empty());
  if (all.empty() || answer->top.empty()) return;
  const auto best = std::min_element(all.begin(), all.end(), [&](const Answer& a, const Answer& b) {
    return a.loss(request.objective) < b.loss(request.objective);
  });
  const Answer found = answers_of(answer->top).front();
  EXPECT_EQ(found.loss(request.objective), best->loss(request.objective));
  EXPECT_TRUE(verify(request, *answer).has_value());
}

TEST(Search, FindsWhatPredictingEveryPlanFinds) {
  Case test;
  expect_what_brute_force_finds(test.request);
  const SearchAnswer answer = search(test.request).value();
  // On one node hybrid sharding is full sharding: 36 plans on 16 GPUs, half of those on 8.
  EXPECT_EQ(answer.considered, 3u * 2 * 3 * 2 * (2 + 2 + 4));
  EXPECT_EQ(answer.cut_by_bound, 0u) << "there are few plans";
  EXPECT_GT(answer.out_of_memory, 0u);
}

// What XLA compiles has no caching allocator, so a plan's memory on TPUs says nothing about GPUs.
TEST(Search, FindsOnTpusAndGpusTogetherWhatItFindsOnEach) {
  Case test;
  const Machine tpu = load_machine("tpu-v5p").value();
  test.request.device_memory.reset();
  test.request.base.plan.operators = OperatorSetName::foreshard;
  test.request.targets = {{&tpu, 8, 1, {16}}, {&test.h100, 8, 1, {32}}};
  expect_what_brute_force_finds(test.request);
}

// Of a random job: its values and other ones, of some of the keys that matter.
std::vector<PlanAxis> random_space(tests::JobDrawer& drawer) {
  const std::vector<std::string> lines = {
      "\"batch.micro_batch\" = [1, 2, 3]",
      "\"batch.gradient_sync\" = [\"every\", \"last\"]",
      "\"sharding.reshard_after_forward\" = [\"auto\", true, false]",
      "\"checkpointing.mode\" = [\"none\", \"full\"]",
      "\"prefetch.forward\" = [0, 1, 2]",
      "\"precision.reduce\" = [\"fp32\", \"bf16\"]",
      "\"offload.parameters\" = [false, true]",
      "\"offload.activations\" = [false, true]",
      "\"allocator.expandable_segments\" = [false, true]",
      "either = [{}, {\"offload.optimizer\" = true}, {\"optimizer.name\" = \"sgd\"}]"};
  std::string text;
  for (const std::string& line : lines) {
    if (drawer.chance(0.4)) text += line + "\n";
  }
  return parse_plan_space(text, "random space").value();
}

TEST(Search, FindsTheSameInRandomSpacesWithBoundsAndWithout) {
  const Machine h100 = load_machine("h100-sxm").value(), l4 = load_machine("l40s").value();
  int searched = 0;
  for (int draw = 0; draw < tests::draws(16) && !testing::Test::HasFailure(); ++draw) {
    tests::JobDrawer drawer(70'000 + static_cast<std::uint64_t>(draw));
    const Job job = drawer.draw();
    SearchRequest request;
    request.base.model = job.model;
    request.base.plan = job.plan;
    request.space = random_space(drawer);
    request.targets = {{&h100, job.ranks, 1, {3}}, {&l4, job.ranks, 1, {1}}};
    request.objective = drawer.one_of({Objective::tokens_per_s, Objective::time, Objective::cost});
    request.device_memory = drawer.one_of<std::int64_t>({4, 24, 1024}) << 20;
    request.bounding = drawer.one_of({Bounding::always, Bounding::never});
    if (!search(request)) continue;
    ++searched;
    expect_what_brute_force_finds(request);
  }
  EXPECT_GT(searched, tests::draws(16) / 2);
}

TEST(Search, CutsNothingThatIsAnAnswer) {
  for (const Objective objective : {Objective::tokens_per_s, Objective::cost}) {
    Case test;
    test.request.objective = objective;
    test.request.tokens_per_step = 1 << 18;
    SearchRequest whole = test.request;
    test.request.bounding = Bounding::always;
    whole.bounding = Bounding::never;
    const SearchAnswer cut = search(test.request).value(), all = search(whole).value();
    EXPECT_GT(cut.cut_by_bound, 0u);
    EXPECT_EQ(all.cut_by_bound, 0u);
    EXPECT_EQ(cut.considered, all.considered);
    EXPECT_EQ(answers_of(cut.top), answers_of(all.top));
    EXPECT_EQ(answers_of(cut.pareto), answers_of(all.pareto));
    EXPECT_EQ(answers_of(cut.pareto_cost), answers_of(all.pareto_cost));
    for (std::size_t n = 0; n < cut.pareto.size(); ++n) {
      EXPECT_EQ(cut.pareto[n].plan, all.pareto[n].plan);
    }
  }
}

TEST(Search, ThePictureHasOneColourForEachMachineAndSize) {
  const Case test;
  const auto on = [&](std::size_t target, double tokens_per_s, std::int64_t reserved) {
    FoundPlan plan;
    plan.target = test.request.targets[target];
    plan.tokens_per_s = tokens_per_s;
    plan.peak_reserved = reserved;
    plan.usd_per_million_tokens = tokens_per_s / 1000;
    return plan;
  };
  SearchAnswer answer;
  answer.pareto = {on(0, 200, 2 * kGiB.count), on(1, 100, kGiB.count)};
  answer.pareto_cost = {on(0, 200, 2 * kGiB.count)};
  const std::string svg = search_svg(answer);
  std::map<std::string, std::set<std::string>> colours;
  const std::regex dot("fill=\"(#[0-9a-f]+)\"><title>([^:]+):");
  for (std::sregex_iterator found(svg.begin(), svg.end(), dot), end; found != end; ++found) {
    colours[(*found)[2]].insert((*found)[1]);
  }
  ASSERT_EQ(colours.size(), 2u) << svg;
  for (const auto& [target, of_target] : colours) EXPECT_EQ(of_target.size(), 1u) << target;
}

TEST(Search, TheNumberOfThreadsChangesNothing) {
  Case test;
  test.request.bounding = Bounding::always;
  const SearchAnswer one = search(test.request).value();
  test.request.threads = 3;
  const SearchAnswer three = search(test.request).value();
  EXPECT_EQ(answers_of(one.top), answers_of(three.top));
  EXPECT_EQ(answers_of(one.pareto), answers_of(three.pareto));
  EXPECT_EQ(one.predicted, three.predicted);
}

// Processes as threads, whose texts meet in memory: all come to the answer of one.
TEST(Search, TheNumberOfProcessesChangesNothing) {
  constexpr int kProcesses = 3;
  Case test;
  test.request.bounding = Bounding::always;
  test.request.training = TrainingGoal{1e9};
  test.request.training->budget_usd = 1e4;
  const auto text_of = [&](SearchAnswer answer) {
    answer.seconds = answer.processor_seconds = 0;
    answer.threads = answer.processes = 1;
    return search_json(test.request, answer);
  };
  const std::string alone = text_of(search(test.request).value());
  std::vector<std::string> texts(kProcesses);
  std::barrier meeting(kProcesses);
  std::vector<SearchAnswer> answers(kProcesses);
  std::vector<std::thread> processes;
  for (int process = 0; process < kProcesses; ++process) {
    processes.emplace_back([&, process] {
      SearchRequest request = test.request;
      request.share = {process, kProcesses, [&, process](const std::string& mine) {
                         texts[static_cast<std::size_t>(process)] = mine;
                         meeting.arrive_and_wait();
                         std::vector<std::string> all = texts;
                         meeting.arrive_and_wait();
                         return all;
                       }};
      answers[static_cast<std::size_t>(process)] = search(request).value();
    });
  }
  for (std::thread& process : processes) process.join();
  for (const SearchAnswer& answer : answers) {
    EXPECT_EQ(answer.threads, kProcesses);
    EXPECT_EQ(text_of(answer), alone);
  }
}

TEST(Search, ABudgetLeavesOutWhatCostsMore) {
  Case test;
  test.request.training = TrainingGoal{1e9};
  const SearchAnswer all = search(test.request).value();
  EXPECT_FALSE(all.best_sure.has_value()) << "there are no limits";
  const double dearest = *all.pareto_cost.front().usd_per_million_tokens * 1e3;
  test.request.training->budget_usd = dearest * 0.99;
  const SearchAnswer some = search(test.request).value();
  EXPECT_GT(some.over_budget, 0u);
  for (const FoundPlan& plan : some.top) {
    EXPECT_LE(*plan.usd_per_million_tokens * 1e3, *test.request.training->budget_usd);
  }
}

TEST(Search, ADeadlineLeavesOutWhatTakesLonger) {
  Case test;
  test.request.training = TrainingGoal{1e9};
  const SearchAnswer all = search(test.request).value();
  const double shortest = 1e9 / all.top.front().tokens_per_s;
  test.request.training->deadline_s = 1.2 * shortest;
  const SearchAnswer some = search(test.request).value();
  EXPECT_GT(some.too_late, 0u);
  EXPECT_EQ(some.considered, all.considered);
  EXPECT_EQ(answers_of(some.top), answers_of(all.top));
  test.request.training->deadline_s = 0.99 * shortest;
  EXPECT_TRUE(search(test.request)->top.empty());
}

// Of every plan by itself: the best of those whose band keeps the limits.
std::optional<Answer> best_sure_by_brute_force(const SearchRequest& request) {
  const TrainingGoal& goal = *request.training;
  const Candidates candidates(request.base.plan, "base", request.space, request.tokens_per_step);
  std::optional<Answer> best;
  for (const SearchTarget& target : request.targets) {
    for (std::size_t n = 0; n < candidates.plans(); ++n) {
      const auto plan = candidates.plan(n, target.gpus);
      const auto p = plan ? predicted(request, *plan, target) : std::nullopt;
      if (!p || !p->fits || p->step_time.count() == 0) continue;
      const double slowest = p->tokens_per_s * static_cast<double>(p->step_time.count()) /
                             static_cast<double>(p->step_time_high.count());
      const TrainingCost cost = training_cost(goal, slowest, target.rent.usd_per_hour);
      if (broken_limit(goal, cost) != Limit::none) continue;
      const Answer answer{p->tokens_per_s, reserved_by(*p),
                          *usd_per_million_tokens(target, p->tokens_per_s), p->step_time.count()};
      if (!best || answer.loss(request.objective) < best->loss(request.objective)) best = answer;
    }
  }
  return best;
}

TEST(Search, FindsTheBestPlanWhoseBandKeepsTheLimits) {
  for (const Objective objective : {Objective::tokens_per_s, Objective::cost}) {
    for (const Bounding bounding : {Bounding::never, Bounding::always}) {
      for (const double slack : {1.05, 1.3}) {
        Case test;
        test.request.objective = objective;
        test.request.bounding = bounding;
        test.request.training = TrainingGoal{1e9};
        const SearchAnswer all = search(test.request).value();
        const FoundPlan& best = all.top.front();
        test.request.training->deadline_s = slack * 1e9 / best.tokens_per_s;
        test.request.training->budget_usd = slack * *best.usd_per_million_tokens * 1e3;
        const auto expected = best_sure_by_brute_force(test.request);
        const SearchAnswer answer = search(test.request).value();
        ASSERT_EQ(answer.best_sure.has_value(), expected.has_value());
        if (!expected) continue;
        EXPECT_EQ(answers_of({*answer.best_sure}).front().loss(objective),
                  expected->loss(objective));
        EXPECT_TRUE(verify(test.request, answer).has_value());
      }
    }
  }
}

TEST(Search, CheckpointsAndFailuresLengthenATraining) {
  Case test;
  test.request.training = TrainingGoal{1e12};
  test.request.training->storage_bandwidth = 1e9;
  test.request.training->gpu_mtbf_s = 1000 * 3600;
  const SearchAnswer answer = search(test.request).value();
  EXPECT_TRUE(answer.warnings.empty());
  for (const FoundPlan& plan : answer.top) {
    ASSERT_TRUE(plan.reliability.has_value());
    EXPECT_DOUBLE_EQ(plan.reliability->between_failures, 1000.0 * 3600 / plan.target.gpus);
    const double share = goodput(*plan.reliability), seconds = 1e12 / plan.tokens_per_s / share;
    EXPECT_LT(share, 1);
    const TrainingCost cost = plan.training_cost_at(*test.request.training, plan.step_time);
    EXPECT_NEAR(cost.seconds, seconds, 1e-9 * seconds);
    EXPECT_NEAR(*cost.usd, plan.target.rent.usd_per_hour * seconds / 3600, 1e-9 * *cost.usd);
    EXPECT_NEAR(*cost.usd, *plan.usd_per_million_tokens * 1e6, 1e-9 * *cost.usd);
  }
  test.request.training->storage_bandwidth = 0;
  const SearchAnswer unknown = search(test.request).value();
  EXPECT_FALSE(unknown.top.front().reliability.has_value());
  ASSERT_FALSE(unknown.warnings.empty());
  EXPECT_NE(unknown.warnings.front().find("the storage of h100-sxm is not known"),
            std::string::npos);
}

// Axes of as many choices as each of `counts`.
std::vector<PlanAxis> axes_of(const std::vector<std::size_t>& counts) {
  std::vector<PlanAxis> axes;
  for (const std::size_t count : counts) {
    axes.push_back({"axis" + std::to_string(axes.size()),
                    {"batch.micro_batch"},
                    std::vector<PlanChoice>(count)});
  }
  return axes;
}

TEST(Search, RefusesASpaceOfTooManyCombinations) {
  EXPECT_TRUE(check_size(axes_of({10'000, 10'000})).has_value());
  // The last two are multiples of 2^64.
  for (const auto& counts : std::vector<std::vector<std::size_t>>{
           {10'000, 10'001}, std::vector<std::size_t>(8, 256), std::vector<std::size_t>(8, 512)}) {
    Case test;
    test.request.space = axes_of(counts);
    const auto answer = search(test.request);
    ASSERT_FALSE(answer.has_value());
    EXPECT_NE(answer.error().text().find("axis1 (" + std::to_string(counts[1]) + ")"),
              std::string::npos)
        << answer.error().text();
  }
}

TEST(Search, ShowsProgressOfFindingPlansAndOfPredictingThem) {
  Case test;
  // All but a few have the programs of another one.
  test.request.space = axes_of({10'000});
  std::set<std::string_view> shown;
  test.request.progress = [&](std::string_view what, std::size_t done, std::size_t all) {
    EXPECT_LE(done, all);
    shown.insert(what);
  };
  ASSERT_TRUE(search(test.request).has_value());
  EXPECT_EQ(shown, (std::set<std::string_view>{"finding plans", "predicting plans"}));
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

TEST(ParetoFront, IsTheDefinitionsOnRandomPoints) {
  tests::JobDrawer drawer(3);
  for (int draw = 0; draw < 200; ++draw) {
    std::vector<Point> points;
    std::vector<Answer> answers;
    for (std::int64_t n = drawer.integer(0, 30); n > 0; --n) {
      const auto gain = static_cast<double>(drawer.integer(1, 9));
      const std::int64_t price = drawer.integer(1, 9);
      points.push_back({gain, static_cast<double>(price), points.size()});
      answers.push_back({gain, price, 0, 0});
    }
    std::vector<Answer> front;
    for (const Point& point : pareto_front(points)) front.push_back(answers[point.index]);
    EXPECT_EQ(front, front_of(answers, &Answer::reserved));
  }
}

}  // namespace
}  // namespace foreshard::simulator
