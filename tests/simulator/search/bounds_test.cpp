// What the search leaves out: bounds against what they bound, steps that begin idle against whole runs,
// plans with one key against each other's programs.
#include "simulator/search/bounds.hpp"

#include <algorithm>
#include <map>

#include <gtest/gtest.h>

#include "models/lowering/lower.hpp"
#include "simulator/engine/idle_steps.hpp"
#include "simulator/search/default_space.hpp"
#include "simulator/search/held_bytes.hpp"
#include "tests/property/random_job.hpp"
#include "tests/simulator/search/brute_force.hpp"

namespace foreshard::simulator {
namespace {

void expect_reserved_for_what_is_held(const Prediction& p, const Plan& plan) {
  for (const RankClass& of : p.run.classes) {
    const HeldBytes held = held_bytes(of.program);
    EXPECT_LE(held.at_once, of.memory.run.allocated) << to_toml(plan);
    EXPECT_LE(least_reserved(held, p.run.allocator, p.capacity), reserved_by(p)) << to_toml(plan);
  }
}

void expect_admissible(const SearchRequest& request, const Candidates& candidates,
                       std::size_t number, const TargetKind& kind, Bounds& bounds) {
  const auto plan = candidates.plan(number, kind.gpus);
  if (!plan) return;
  const PlanBounds of_targets = bounds.of(candidates.choices(number), *plan);
  for (std::size_t t = 0; t < kind.targets.size(); ++t) {
    const PlanBound& bound = of_targets[t];
    const auto p = predicted(request, *plan, request.targets[kind.targets[t]]);
    if (!p || !p->fits) continue;
    EXPECT_GT(bound.step_ns, 0);
    EXPECT_LE(bound.step_ns, p->step_time.count()) << to_toml(*plan);
    EXPECT_GE(bound.tokens_per_s(), p->tokens_per_s) << to_toml(*plan);
    EXPECT_GT(bound.reserved, 0);
    EXPECT_LE(bound.reserved, reserved_by(*p)) << to_toml(*plan);
    expect_reserved_for_what_is_held(*p, *plan);
  }
}

TEST(Bounds, AreNeverBeatenInTheDefaultSpace) {
  const Machine h100 = load_machine("h100-sxm").value(), mi300x = load_machine("mi300x").value();
  SearchRequest request;
  request.base.model = load_llama_config("llama-3.2-1b").value();
  request.space = default_space();
  request.tokens_per_step = 1 << 18;
  request.targets = {{&h100, 8, 1}, {&mi300x, 8, 1}, {&h100, 32, 4}};
  const Candidates candidates(request.base.plan, "base", request.space, request.tokens_per_step);
  for (const TargetKind& kind : target_kinds(request)) {
    Bounds bounds(request, kind, candidates);
    for (std::size_t n = 0; n < candidates.plans(); n += 61) {
      expect_admissible(request, candidates, n, kind, bounds);
    }
  }
}

constexpr const char* kPyTorchSpace = R"("operators" = ["pytorch-eager", "pytorch-compile"]
"runtime" = ["fsdp2", "fsdp1", "ddp"]
"batch.micro_batch" = [1, 3]
"batch.sequence" = [512, 2048]
"batch.accumulation" = [1, 2, 5]
"batch.gradient_sync" = ["every", "last"]
"checkpointing.mode" = ["none", "full", "selective"]
"sharding.reshard_after_forward" = ["auto", true, false]
"sharding.strategy" = ["full_shard", "hybrid_shard"]
"prefetch.forward" = [0, 1]
"prefetch.backward" = [0, 2, "none"]
"precision.reduce" = ["fp32", "bf16"]
"wrap.policy" = ["transformer", "none"]
"offload.parameters" = [false, true]
"offload.activations" = [false, true]
"allocator.expandable_segments" = [false, true]
)";

TEST(Bounds, AreNeverBeatenByPyTorchsOperatorsAndRuntimes) {
  const Machine h100 = load_machine("h100-sxm").value(), a100 = load_machine("a100-sxm-40").value();
  SearchRequest request;
  request.base.model = load_llama_config("llama-3.2-1b").value();
  request.space = parse_plan_space(kPyTorchSpace, "space").value();
  request.targets = {{&h100, 8, 1}, {&a100, 16, 2}};
  const Candidates candidates(request.base.plan, "base", request.space, {});
  const std::size_t step = candidates.plans() / static_cast<std::size_t>(tests::draws(300)) | 1;
  for (const TargetKind& kind : target_kinds(request)) {
    Bounds bounds(request, kind, candidates);
    for (std::size_t n = 0; n < candidates.plans() && !testing::Test::HasFailure(); n += step) {
      expect_admissible(request, candidates, n, kind, bounds);
    }
  }
}

TEST(Bounds, AreNeverBeatenByRandomPlans) {
  const Machine machines[] = {load_machine("h100-sxm").value(), load_machine("l40s").value(),
                              load_machine("a100-sxm-40").value()};
  for (int draw = 0; draw < tests::draws(150) && !testing::Test::HasFailure(); ++draw) {
    tests::JobDrawer drawer(80'000 + static_cast<std::uint64_t>(draw));
    const Job job = drawer.draw();
    SearchRequest request;
    request.base.model = job.model;
    request.base.plan = job.plan;
    for (const Machine& machine : machines) {
      request.targets.push_back({&machine, job.ranks, 1});
    }
    const Candidates candidates(request.base.plan, "random", {}, {});
    for (const TargetKind& kind : target_kinds(request)) {
      Bounds bounds(request, kind, candidates);
      expect_admissible(request, candidates, 0, kind, bounds);
    }
  }
}

// Of the communicator that works longest in a step.
std::int64_t busiest_communicator_ns(const RankClass& of) {
  const Program& step = of.program.step(2);
  const std::size_t places = cost_places(of.program.place);
  std::map<Group, std::int64_t> ns;
  for (std::size_t n = 0; n < step.instructions.size(); ++n) {
    const Instruction& i = step.instructions[n];
    if (i.kind != Kind::collective) continue;
    ns[i.group] += of.costs.costs[cost_index(i, places)].ns * step.repetition.times(n);
  }
  std::int64_t most = 0;
  for (const auto& [group, of_group] : ns) most = std::max(most, of_group);
  return most;
}

// However many micro-steps their states are lowered with.
TEST(Bounds, CountTheCollectivesOfAllMicroSteps) {
  const Machine l40s = load_machine("l40s").value();
  SearchRequest request;
  request.base.model = load_llama_config("llama-3.2-1b").value();
  request.base.plan.batch = {1, 128, 1, When::every, When::every};
  request.space = parse_plan_space(R"("batch.accumulation" = [1, 2, 3, 4, 7, 16]
"batch.gradient_sync" = ["every", "last"]
"sharding.strategy" = ["full_shard", "hybrid_shard"]
"sharding.reshard_after_forward" = ["auto", false]
"sharding.reshard_after_backward" = ["every", "last"]
"offload.optimizer" = [false, true])",
                                   "space")
                      .value();
  request.targets = {{&l40s, 16, 2}};
  const TargetKind kind = target_kinds(request).front();
  const Candidates candidates(request.base.plan, "base", request.space, {});
  Bounds bounds(request, kind, candidates);
  for (std::size_t n = 0; n < candidates.plans(); ++n) {
    const auto plan = candidates.plan(n, 16);
    ASSERT_TRUE(plan);
    const auto p = predicted(request, *plan, request.targets.front());
    ASSERT_TRUE(p && p->fits);
    const PlanBound bound = bounds.of(candidates.choices(n), *plan).front();
    EXPECT_EQ(bound.step_ns, busiest_communicator_ns(p->run.classes.front())) << to_toml(*plan);
  }
}

// What runs of other steps showed holds for a plan in part, so that its step may be shorter than by the
// observed factors.
TEST(Bounds, AreNeverBeatenWhereRunsWereObserved) {
  const Machine h100 = load_machine("h100-sxm").value();
  CostTable table;
  table.machine_name = h100.name;
  table.is_accelerator = true;
  table.rates = DeviceRates{"h100-sxm", prior_factors(kernel_rates(*load_machine("h100-sxm"))), {}};
  table.rates->factors.logarithm.fill(0.5);
  table.rates->observed.emplace_back().exercise = {1, {{"product matmul bf16", 0.3}}};
  SearchRequest request;
  request.base.model = load_llama_config("llama-3.2-1b").value();
  request.space = default_space();
  request.tokens_per_step = 1 << 18;
  request.costs = &table;
  request.targets = {{&h100, 8, 1, {4}}};
  const Candidates candidates(request.base.plan, "base", request.space, request.tokens_per_step);
  for (const TargetKind& kind : target_kinds(request)) {
    Bounds bounds(request, kind, candidates);
    for (std::size_t n = 0; n < candidates.plans(); n += 61) {
      expect_admissible(request, candidates, n, kind, bounds);
    }
  }
}

TEST(IdleSteps, TakeTheSameTimeWhateverCameBefore) {
  const Machine machine = load_machine("h100-sxm").value();
  int idle = 0, busy = 0;
  for (int draw = 0; draw < tests::draws(150) && !testing::Test::HasFailure(); ++draw) {
    tests::JobDrawer drawer(90'000 + static_cast<std::uint64_t>(draw));
    const Job job = drawer.draw();
    PredictionOptions options;
    options.machine = &machine;
    options.wants_path = true;
    const Prediction last = predict(job, options);
    ++(last.run.engine.first_step == options.steps ? idle : busy);
    options.keeps_memory_records = true;
    const Prediction whole = predict(job, options);
    EXPECT_EQ(last.step_time, whole.step_time) << to_toml(job.plan);
    EXPECT_EQ(last.exposed_communication, whole.exposed_communication) << to_toml(job.plan);
    EXPECT_TRUE(last.path == whole.path) << to_toml(job.plan);
  }
  EXPECT_GT(idle, 0);
}

bool drains(const Prediction& prediction, std::int64_t step) {
  const auto& delays = prediction.run.classes.front().memory.delays;
  return std::any_of(delays.begin(), delays.end(),
                     [step](const HostDelay& delay) { return delay.step == step && delay.drains; });
}

TEST(IdleSteps, AreNoShorterWhereTheAllocatorKeepsThemWaiting) {
  const Machine machine = load_machine("h100-sxm").value();
  int free = 0, kept_waiting = 0;
  for (int draw = 0; draw < tests::draws(150) && !testing::Test::HasFailure(); ++draw) {
    tests::JobDrawer drawer(95'000 + static_cast<std::uint64_t>(draw));
    const Job job = drawer.draw();
    PredictionOptions options;
    options.machine = &machine;
    options.wants_memory = false;
    const Nanoseconds alone = predict(job, options).step_time;
    options.wants_memory = true;
    const Prediction unlimited = predict(job, options);
    if (alone.count() == 0) {
      EXPECT_NE(unlimited.run.engine.first_step, options.steps) << to_toml(job.plan);
      continue;
    }
    for (const double share : {1.0, 0.98, 0.95, 0.9, 0.85, 0.8}) {
      options.device_memory =
          static_cast<std::int64_t>(share * static_cast<double>(reserved_by(unlimited)));
      const Prediction tight = predict(job, options);
      if (!tight.fits) break;
      expect_reserved_for_what_is_held(tight, job.plan);
      ++(drains(tight, options.steps) ? kept_waiting : free);
      if (drains(tight, options.steps)) {
        EXPECT_GE(tight.step_time, alone) << to_toml(job.plan) << *options.device_memory;
      } else {
        EXPECT_EQ(tight.step_time, alone) << to_toml(job.plan) << *options.device_memory;
      }
    }
  }
  EXPECT_GT(free, 0);
  EXPECT_GT(kept_waiting, 0);
}

TEST(ProgramKey, IsThatOfEqualPrograms) {
  const std::string space = R"("batch.accumulation" = [1, 2]
"batch.gradient_sync" = ["every", "last"]
"sharding.strategy" = ["full_shard", "shard_grad_op", "hybrid_shard", "hybrid_shard_zero2"]
"sharding.shard_group" = [0, 4, 8, 16]
"sharding.reshard_after_forward" = ["auto", true, false, 1, 4, 16]
"checkpointing.mode" = ["none", "full"]
"checkpointing.fraction" = [1.0, 0.5]
)";
  const LlamaConfig model = load_llama_config("llama-small-14m").value();
  const Candidates candidates({}, "base", parse_plan_space(space, "space").value(), {});
  std::map<std::string, std::uint64_t> hashes;
  std::size_t plans = 0;
  for (std::size_t n = 0; n < candidates.plans(); ++n) {
    const auto plan = candidates.plan(n, 16);
    const auto job = plan ? make_job(model, *plan, "plan", 16, 2) : tl::unexpected(plan.error());
    if (!job) continue;
    ++plans;
    const std::uint64_t hash = program_hash(lower(*job, 0));
    const auto [known, is_new] = hashes.try_emplace(program_key(*plan, 16, 2), hash);
    EXPECT_EQ(known->second, hash) << to_toml(*plan);
  }
  EXPECT_LT(hashes.size(), plans / 2);
}

}  // namespace
}  // namespace foreshard::simulator
