// Whole predictions of real lowerings: what must hold for every one of them.
#include "simulator/predict/prediction.hpp"

#include <algorithm>
#include <numeric>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "models/lowering/lower.hpp"
#include "simulator/engine/task_graph.hpp"
#include "simulator/predict/model_flops.hpp"
#include "tests/simulator/predict/h100.hpp"
#include "tests/simulator/small_program.hpp"
#include "tests/small_llama.hpp"
#include "traces/program_attributes.hpp"

namespace foreshard::simulator {
namespace {

LlamaConfig small_model() {
  return tests::small_llama({64, 160, 3, 4, 2, 300});
}

Plan small_plan() {
  Plan plan;
  plan.batch.micro_batch = 2;
  plan.batch.sequence = 64;
  return plan;
}

Job job_of(const LlamaConfig& model, const Plan& plan, int ranks, int nodes = 0) {
  auto job = make_job(model, plan, "test", ranks, nodes);
  EXPECT_TRUE(job) << job.error().text();
  return *job;
}

Prediction predict_h100(const std::string& model, const Plan& plan, int ranks) {
  PredictionOptions options;
  options.machine = &h100();
  return predict(job_of(*load_llama_config(model), plan, ranks), options);
}

TEST(Prediction, CostsOfThirtyYearsAreNoStepTime) {
  CostTable costs;
  costs.cores = 2;
  ThreadCountCosts& regime = costs.regimes.emplace_back();
  const FitRange everywhere{99, 99, 1, 1e15, 0, 1e9, 1e9};
  // Both within what a cost file may say.
  regime.operators.push_back({Operator::matmul, DType::fp32, false, 1e15, 0, 0, 0, everywhere});
  costs.crowding.push_back({1, 2, 100, 1});
  PredictionOptions options;
  options.costs = &costs;
  options.wants_path = options.keeps_memory_records = true;
  const Job job = job_of(small_model(), small_plan(), 2);
  const Prediction p = predict(job, options);
  EXPECT_EQ(p.step_time.count(), 0);
  EXPECT_GT(p.cost_sources.unknown, 0);
  EXPECT_NE(std::find(p.warnings.begin(), p.warnings.end(),
                      "by these costs the run would last more than thirty years"),
            p.warnings.end());
  EXPECT_GT(to_trace(job, p, "test").events.size(), 0);
}

TEST(Prediction, AnswersForEveryRankAndStep) {
  PredictionOptions options;
  options.steps = 3;
  const Prediction p = predict(job_of(small_model(), small_plan(), 3), options);
  EXPECT_TRUE(p.fits);
  EXPECT_EQ(p.ranks_memory.size(), 3);
  EXPECT_EQ(p.steps_memory.size(), 9);
  EXPECT_EQ(p.steps_memory[4].step, 2);
  EXPECT_EQ(p.steps_memory[4].rank, 1);
  EXPECT_GT(p.step_time.count(), 0);
  EXPECT_LT(p.step_time_low, p.step_time);
  EXPECT_GT(p.step_time_high, p.step_time);
  EXPECT_GT(p.tokens_per_s, 0);
  EXPECT_EQ(p.cost_sources.unknown, 0);
  EXPECT_GT(p.cost_sources.modelled, 0);
  EXPECT_EQ(p.run.timelines.size(), 3);  // processors are shared: every rank on its own
  std::int64_t by_category = 0;
  for (const auto& [category, bytes] : p.peak.by_category) by_category += bytes;
  EXPECT_EQ(by_category, p.ranks_memory[static_cast<std::size_t>(p.peak.rank)].peaks.allocated);
}

TEST(Prediction, MemoryNeedsNeitherCostsNorTime) {
  const Job job = job_of(small_model(), small_plan(), 2);
  const Machine machine = h100();
  PredictionOptions plain, memory_only, on_gpu;
  memory_only.wants_time = false;
  on_gpu.machine = &machine;
  const Prediction a = predict(job, plain), b = predict(job, memory_only), c = predict(job, on_gpu);
  for (std::size_t r = 0; r < 2; ++r) {
    EXPECT_EQ(a.ranks_memory[r].peaks, b.ranks_memory[r].peaks);
    EXPECT_EQ(a.ranks_memory[r].peaks, c.ranks_memory[r].peaks);
  }
  EXPECT_TRUE(b.run.timelines.empty());
}

TEST(Prediction, IsTheSameEveryTime) {
  const Job job = job_of(small_model(), small_plan(), 2);
  EXPECT_EQ(predict(job, {}).step_time, predict(job, {}).step_time);
}

TEST(Prediction, Llama8BOnEightH100) {
  Plan plan;
  plan.batch.micro_batch = 1;
  plan.batch.sequence = 8192;
  plan.checkpointing.mode = CheckpointMode::full;
  const Prediction p = predict_h100("llama-3.1-8b", plan, 8);
  EXPECT_TRUE(p.fits);
  EXPECT_EQ(p.run.timelines.size(), 1);  // all ranks alike: one stands for them
  // Shards, gradients and states alone are 16 B x 8.03e9 / 8; published runs need about 32 GiB.
  EXPECT_GT(p.ranks_memory[0].peaks.allocated, 15LL << 30);
  EXPECT_LT(p.ranks_memory[0].peaks.allocated, 40LL << 30);
  // Matrix products of the blocks forward, again and backward (2 + 2 + 4 FLOPs a parameter), of the
  // head once less, at 80 % of the best that was measured; attention over half of the square, whose
  // backward does five products for two, at 45 and 38 % of the data sheet.
  const double blocks = 32 * 218'103'808.0, head = 128'256 * 4096.0, tokens = 8192;
  const double products = tokens * (8 * blocks + 6 * head) / (0.80 * 794.5e12);
  const double square = 32 * 2 * tokens * tokens * 4096;
  const double attention = 2 * square / (0.45 * 989e12) + 2.5 * square / (0.38 * 989e12);
  const double seconds = static_cast<double>(p.step_time.count()) / 1e9;
  EXPECT_GT(seconds, products + attention);
  EXPECT_LT(seconds,
            1.25 * (products + attention));  // norms, casts, optimizer, exposed collectives
  // 6 N + 12 L H Q T without the embedding: 5.79e10 FLOPs a token.
  EXPECT_NEAR(p.mfu, 5.79e10 * tokens / (seconds * 989e12), 0.001);
}

// The second step still takes segments from the driver, which the host of a small job does not hide.
TEST(Prediction, AStepTakesWhatAllThatFollowTake) {
  Plan plan;
  plan.batch.micro_batch = 2;
  plan.batch.sequence = 2048;
  plan.precision.param = DType::bf16;
  const Job job = job_of(*load_llama_config("llama-3.2-1b"), plan, 1);
  PredictionOptions two, four;
  two.machine = four.machine = &h100();
  four.steps = 4;
  EXPECT_EQ(predict(job, two).step_time, predict(job, four).step_time);
}

TEST(Prediction, GroupsThatStraddleNodesAreNotFaster) {
  // 24 ranks on three nodes of 8 with 50 GB/s each. Two of four groups of 6 straddle two nodes, and
  // have three network cards of eight; groups of 8 stay inside; of 12 straddle with six.
  const Machine machine = *load_machine("a100-sxm-40");
  const auto step_ms = [&](int group, int nodes) {
    Plan plan;
    plan.batch.micro_batch = 1;
    plan.batch.sequence = 256;
    plan.sharding.strategy = Strategy::hybrid_shard;
    plan.sharding.shard_group = group;
    PredictionOptions options;
    options.machine = &machine;
    options.device_memory = std::int64_t{1} << 50;
    const Job job = job_of(*load_llama_config("llama-3.1-8b"), plan, 24, nodes);
    return static_cast<double>(predict(job, options).step_time.count()) / 1e6;
  };
  for (const int nodes : {3, 0}) {  // 0: as few as hold them, the same three
    const double six = step_ms(6, nodes), eight = step_ms(8, nodes), twelve = step_ms(12, nodes);
    EXPECT_GT(six, eight) << nodes;
    EXPECT_GT(six, twelve) << nodes;
    // All parameters twice in bf16 and once in fp32 through the cards of the narrowest group.
    EXPECT_GT(six, (2 * 2 + 4) * 7.5e9 * 5 / 6 / 18.75e6 * 0.9) << nodes;
  }
}

TEST(Prediction, ModelFlopsFollowTheConvention) {
  // 7,504,924,672 parameters without the embedding; 12 x 32 x 4096 x 8192 for the scores.
  EXPECT_DOUBLE_EQ(model_flops_per_token(*load_llama_config("llama-3.1-8b"), 8192),
                   6 * 7'504'924'672.0 + 12'884'901'888.0);
  // A tied table of 2048 x 128256 is multiplied by as well: all 1,235,814,400 count.
  EXPECT_DOUBLE_EQ(model_flops_per_token(*load_llama_config("llama-3.2-1b"), 2048),
                   6 * 1'235'814'400.0 + 12.0 * 16 * 2048 * 2048);
}

TEST(Prediction, WhatTheAllocatorNeverSeesDependsOnMachineAndGroups) {
  Plan plan = small_plan();
  plan.optimizer.clip_grad_norm = 1;
  const auto outside = [&](const char* machine, int ranks, int nodes) {
    const RankProgram program = lower(job_of(small_model(), plan, ranks), 0);
    const Platform on = machine_costs(*load_machine(machine), ranks, nodes)->platform;
    return outside_memory(*on.nccl, program, counted_costs(program), on.ranks_per_node).bytes() >>
           20;
  };
  // Whole MiB: the context; a communicator, the first of its process; its connections, 24 channels x 12 for
  // rings and, as the norm is all-reduced, for trees; 256 for switches that reduce, where there are
  // some and the group is inside a node.
  const std::int64_t context = 618, first = 562;
  EXPECT_EQ(outside("h100-sxm", 1, 1), context);
  EXPECT_EQ(outside("h100-sxm", 8, 1), context + first + 2 * 288 + 256);
  EXPECT_EQ(outside("h100-sxm", 16, 2), context + first + 2 * 288);
  EXPECT_EQ(outside("a100-sxm-80", 8, 1), context + first + 2 * 288);
  EXPECT_EQ(outside("b200", 8, 1), context + first + 2 * 192 + 256);
  EXPECT_EQ(outside("l40s", 8, 1), context + first + 2 * 48);
}

TEST(Prediction, AnOptimizerStateComesWithTheFirstStep) {
  // The second step holds two fp32 values per parameter and rank more, 8 P / N bytes (where the
  // peak is in backward, as here).
  Plan plan;
  plan.batch.micro_batch = 1;
  plan.batch.sequence = 8192;
  const Prediction p = predict_h100("llama-3.1-8b", plan, 8);
  const auto& memory = p.run.classes[0].memory;
  const double states = 8.0 * 8'030'261'248.0 / 8;
  EXPECT_NEAR(static_cast<double>(memory.steps[1].allocated - memory.steps[0].allocated), states,
              0.01 * states);
}

TEST(Prediction, OutOfMemoryIsAnAnswer) {
  const Job job = job_of(small_model(), small_plan(), 2);
  PredictionOptions options;
  const Prediction free = predict(job, options);
  options.device_memory = free.ranks_memory[0].peaks.reserved / 2;
  const Prediction p = predict(job, options);
  EXPECT_FALSE(p.fits);
  ASSERT_TRUE(p.oom);
  EXPECT_EQ(p.oom->rank, 0);
  EXPECT_GT(p.oom->request.requested, 0);
  EXPECT_LE(p.oom->request.reserved, *options.device_memory);
  EXPECT_EQ(p.step_time.count(), 0);
  EXPECT_TRUE(p.run.timelines.empty()) << "nobody asked when what happened";
  options.keeps_memory_records = true;
  const traces::Trace trace = to_trace(job, predict(job, options), "test");
  EXPECT_EQ(trace.memory.back().action, traces::MemoryAction::out_of_memory);
  EXPECT_FALSE(trace.events.empty());
}

// Costs of a device that the catalogue lacks, of which one product alone was seen.
CostTable costs_of_an_unknown_device() {
  CostTable table;
  table.machine_name = "Nobody's Device";
  table.is_accelerator = true;
  ThreadCountCosts& regime = table.regimes.emplace_back();
  regime.operators.push_back(
      {Operator::matmul, DType::bf16, false, 2000, 1e-6, 0, 0, {3, 3, 1e5, 1e9, 1, 1e3, 3e3}});
  return table;
}

TEST(Prediction, UnknownCostsGiveNoTime) {
  const Job job = job_of(small_model(), small_plan(), 2);
  const CostTable table = costs_of_an_unknown_device();
  PredictionOptions options;
  options.costs = &table;
  options.keeps_memory_records = true;
  const Prediction p = predict(job, options);
  EXPECT_TRUE(p.fits);
  EXPECT_GT(p.cost_sources.unknown, 0);
  EXPECT_EQ(p.step_time.count(), 0);
  EXPECT_EQ(p.step_time_high.count(), 0);
  EXPECT_EQ(p.tokens_per_s, 0);
  ASSERT_FALSE(p.warnings.empty());
  const std::string& warning = p.warnings.back();
  for (const char* word : {"unknown", "all_gather", "Nobody's Device", "--machine"}) {
    EXPECT_NE(warning.find(word), std::string::npos) << warning;
  }
  // Its trace is one of memory; whoever reads it learns that the times say nothing.
  EXPECT_GT(std::stoi(to_trace(job, p, "test").metadata.at("unknown_costs")), 0);
}

TEST(Prediction, AMachineBesideTheRecordingsLeavesNothingUnknown) {
  const Job job = job_of(small_model(), small_plan(), 2);
  const CostTable table = costs_of_an_unknown_device();
  const Machine machine = h100();
  PredictionOptions both, machine_alone;
  both.costs = &table;
  both.machine = machine_alone.machine = &machine;
  const Prediction a = predict(job, both), b = predict(job, machine_alone);
  const auto sum = [](const SourceCounts& s) {
    return s.measured + s.fitted + s.modelled + s.unknown;
  };
  EXPECT_EQ(a.cost_sources.unknown, 0);
  EXPECT_GT(a.cost_sources.fitted, 0);
  EXPECT_EQ(sum(a.cost_sources), sum(b.cost_sources));
  EXPECT_GT(a.step_time.count(), 0);
}

TEST(Prediction, ATraceOfItHoldsEveryTask) {
  const Job job = job_of(small_model(), small_plan(), 2);
  PredictionOptions options;
  options.keeps_memory_records = true;
  const Prediction p = predict(job, options);
  const traces::Trace trace = to_trace(job, p, "test");
  std::int64_t expected = 0, found = 0;
  for (std::int64_t step = 0; step <= 2; ++step) {
    for (const auto& i : p.run.classes[0].program.step(step).instructions)
      expected += runs_on_stream(i.kind);
  }
  for (const auto& event : trace.events) {
    EXPECT_GE(event.end_ns, event.start_ns);
    found += trace.lanes[static_cast<std::size_t>(event.lane)].device;
  }
  EXPECT_EQ(found, 2 * expected);
  EXPECT_EQ(trace.metadata.at("predicted"), "1");
  EXPECT_EQ(trace.steps.size(), 6);
  // Memory adds up: what the trace's last moment holds is what was never freed.
  std::int64_t held = 0, peak = 0;
  for (const auto& event : trace.memory) {
    if (event.rank != 0 || event.on_host) continue;
    if (event.action == traces::MemoryAction::alloc) held += event.bytes;
    if (event.action == traces::MemoryAction::free_requested) held -= event.bytes;
    peak = std::max(peak, held);
  }
  EXPECT_EQ(peak, p.ranks_memory[0].peaks.allocated);
}

TEST(Prediction, ExposedCommunicationIsWhatNoKernelHides) {
  // Collective 0-100; kernels 20-50 and 40-60 hide 40 of it, one at 90-120 another 10.
  SmallProgram p;
  p.collective(Stream::all_gather, 100)
      .launch(Stream::compute, 30)
      .launch(Stream::all_gather_copy_in, 20);
  p.launch(Stream::compute, 30);
  for (auto& key : p.program.cost_keys) key.op = Operator::add;
  RankTimeline timeline;
  timeline.spans = {{0, 0, 100}, {0, 20, 50}, {0, 40, 60}, {0, 90, 120}};
  timeline.first_span = {0, 0, 4};
  EXPECT_EQ(exposed_communication_ns(p.program, timeline, 1), 50);
}

RC_GTEST_PROP(Predictions, ObeyTheLawsOfSchedules, ()) {
  Plan plan = small_plan();
  plan.batch.sequence = 32;
  plan.batch.accumulation = *rc::gen::inRange(1, 3);
  plan.prefetch.forward = *rc::gen::inRange(0, 3);
  plan.sharding.reshard_after_forward.kind =
      *rc::gen::element(ReshardAfterForward::Kind::automatic, ReshardAfterForward::Kind::yes,
                        ReshardAfterForward::Kind::no);
  plan.checkpointing.mode = *rc::gen::element(CheckpointMode::none, CheckpointMode::full);
  plan.offload.optimizer = *rc::gen::arbitrary<bool>();
  const int ranks = *rc::gen::inRange(1, 5);
  const bool on_gpu = *rc::gen::arbitrary<bool>();
  const Machine machine = h100();
  PredictionOptions options;
  if (on_gpu) options.machine = &machine;
  options.wants_path = true;
  const Job job = job_of(small_model(), plan, ranks);
  const Prediction p = predict(job, options);
  const auto inputs = simulated_ranks(p.run);
  for (std::size_t r = 0; r < p.run.timelines.size(); ++r) {
    const auto spans = p.run.timelines[r].step(2);
    const auto& instructions = inputs[r].program->programs.back().instructions;
    std::vector<std::int64_t> free(inputs[r].streams());
    for (std::size_t i = 0; i < spans.size(); ++i) {
      RC_ASSERT(spans[i].end >= spans[i].start);
      RC_ASSERT(i == 0 || spans[i].issue >= spans[i - 1].issue);
      if (!runs_on_stream(instructions[i].kind)) continue;
      auto& stream = free[static_cast<std::size_t>(instructions[i].stream)];
      RC_ASSERT(spans[i].start >= stream);          // one at a time
      RC_ASSERT(spans[i].start >= spans[i].issue);  // never before its issue
      stream = spans[i].end;
      const auto alone =
          inputs[r].costs[cost_index(instructions[i], cost_places(inputs[r].program->place))].ns;
      RC_ASSERT(spans[i].end - spans[i].start >= alone - 1);  // never faster than alone
    }
  }
  const TaskGraph graph(inputs, p.run.timelines, 2, p.run.engine);
  RC_ASSERT(!graph.has_cycle());
  for (const TaskEdge& edge : graph.edges()) {  // to the nanosecond that sharing engines round
    RC_ASSERT(graph.nodes()[edge.before].end + edge.latency <= graph.nodes()[edge.after].start + 1);
  }
  std::int64_t length = 0;
  for (const PathPart& part : p.path->parts) length += part.ns;
  RC_ASSERT(length == p.step_time.count());
  RC_ASSERT(p.path->length_ns == length);
}

}  // namespace
}  // namespace foreshard::simulator
