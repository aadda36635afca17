// What is said about a peak, against a replay of the allocator's own records and against a real run.
#include "simulator/predict/peak_explanation.hpp"

#include <algorithm>
#include <map>
#include <numeric>

#include <gtest/gtest.h>

#include "simulator/predict/prediction.hpp"
#include "tests/simulator/predict/h100.hpp"
#include "tests/small_llama.hpp"

namespace foreshard::simulator {
namespace {

Job eager_job(void (*change)(Plan&) = [](Plan&) {}) {
  Plan plan;
  plan.operators = OperatorSetName::pytorch_eager;
  plan.batch = {2, 64, 2, When::every, When::every};
  change(plan);
  const auto job = make_job(tests::small_llama({64, 160, 4, 4, 2, 300}), plan, "plan", 2);
  EXPECT_TRUE(job) << job.error().text();
  return *job;
}

Prediction explained(const Job& job, const Machine* machine = &h100()) {
  PredictionOptions options;
  options.machine = machine;
  options.wants_explanation = true;
  return predict(job, options);
}

std::int64_t bytes_held(const PeakExplanation& peak, const std::string& what) {
  std::int64_t sum = 0;
  for (const HeldMemory& held : peak.held) sum += held.what.starts_with(what) ? held.bytes : 0;
  return sum;
}

// The highest sum of allocated blocks in the records, the request that reaches it first, and what the
// allocator keeps for each stream then.
struct Highest {
  std::int64_t bytes = 0, requested = 0, step = 0;
  std::map<int, StreamMemory> streams;
};
Highest highest(const RankMemory& memory) {
  using Action = AllocatorEvent::Action;
  Highest found;
  std::map<int, StreamMemory> streams;
  std::int64_t now = 0;
  for (const MemoryRecord& r : memory.records) {
    if (r.on_host) continue;
    StreamMemory& stream = streams[r.event.stream];
    const auto is = [&](Action a, Action b) { return r.event.action == a || r.event.action == b; };
    if (is(Action::segment_alloc, Action::segment_map)) stream.reserved += r.event.bytes;
    if (is(Action::segment_free, Action::segment_unmap)) stream.reserved -= r.event.bytes;
    if (r.event.action == Action::free_completed) stream.awaiting_free -= r.event.bytes;
    if (r.event.action == Action::free_requested) {
      now -= r.event.bytes;
      stream.allocated -= r.event.bytes;
      stream.awaiting_free += r.event.bytes;
    }
    if (r.event.action != Action::alloc) continue;
    now += r.event.bytes;
    stream.allocated += r.event.bytes;
    if (now > found.bytes) found = {now, r.event.requested, r.step, streams};
  }
  return found;
}

void expect_pools(const std::vector<PoolMemory>& pools, const RankProgram& program,
                  const std::map<int, StreamMemory>& expected) {
  std::size_t reserved = 0;
  for (const auto& [number, stream] : expected) {
    if (stream.reserved == 0) continue;
    ++reserved;
    const std::string& name = program.name(static_cast<Stream>(number));
    const auto pool = std::find_if(pools.begin(), pools.end(),
                                   [&](const PoolMemory& p) { return p.stream == name; });
    ASSERT_NE(pool, pools.end()) << name;
    EXPECT_EQ(pool->reserved, stream.reserved) << name;
    EXPECT_EQ(pool->allocated, stream.allocated) << name;
    EXPECT_EQ(pool->awaiting_free, stream.awaiting_free) << name;
  }
  EXPECT_EQ(pools.size(), reserved);
}

TEST(PeakExplanation, AgreesWithTheAllocatorsRecords) {
  for (const auto change : {+[](Plan&) {}, +[](Plan& p) { p.runtime = RuntimeName::fsdp1; },
                            +[](Plan& p) {
                              p.runtime = RuntimeName::ddp;
                              p.precision.param = p.precision.storage;
                            },
                            +[](Plan& p) {
                              p.runtime = RuntimeName::fsdp1;
                              p.pytorch.gpu_timing = GpuTiming::late;
                            },
                            +[](Plan& p) { p.checkpointing.mode = CheckpointMode::full; },
                            +[](Plan& p) { p.allocator.expandable_segments = true; },
                            +[](Plan& p) { p.operators = OperatorSetName::foreshard; }}) {
    const Job job = eager_job(change);
    const Prediction p = explained(job);
    const PeakExplanation& peak = *p.explanation;
    PredictionOptions options;
    options.machine = &h100();
    options.keeps_memory_records = true;
    const Prediction recorded = predict(job, options);
    const auto rank = static_cast<std::size_t>(p.peak.rank);
    const RankClass& of =
        recorded.run.classes[static_cast<std::size_t>(recorded.run.class_of_rank[rank])];
    const Highest expected = highest(of.memory);
    EXPECT_EQ(peak.allocated, expected.bytes);
    EXPECT_EQ(peak.requested, expected.requested);
    EXPECT_EQ(peak.step, expected.step);
    EXPECT_EQ(peak.allocated, recorded.ranks_memory[rank].peaks.allocated);
    EXPECT_EQ(bytes_held(peak, ""), peak.allocated);
    expect_pools(peak.pools, of.program, expected.streams);
    EXPECT_LE(peak.allocated + peak.unused(), peak.reserved);
  }
}

TEST(PeakExplanation, CountsRepeatedMicroStepsLikeWrittenOnes) {
  // Foreshard's micro-steps are written down twice and walked until they repeat.
  const auto change = [](Plan& p) {
    p.operators = OperatorSetName::foreshard;
    p.batch.accumulation = 6;
    p.batch.gradient_sync = When::last;
  };
  const Prediction p = explained(eager_job(change));
  EXPECT_EQ(p.explanation->micro_steps, 6);
  EXPECT_EQ(bytes_held(*p.explanation, ""), p.ranks_memory[0].peaks.allocated);
}

TEST(PeakExplanation, TellsCheckpointedBlocksFromTheOneThatIsComputedAgain) {
  // Blocks keep their input of 2 x 64 tokens x 64 in bf16, 16 KiB; with a vocabulary this small the
  // peak is where one of them is computed again.
  const Prediction p = explained(eager_job([](Plan& plan) {
    plan.checkpointing.mode = CheckpointMode::full;
    plan.batch.accumulation = 1;
  }));
  const PeakExplanation& peak = *p.explanation;
  std::size_t blocks = 0;
  for (const HeldMemory& held : peak.held) {
    if (held.what.starts_with("activations of")) blocks += held.owners.size();
  }
  EXPECT_GT(blocks, 1U);
}

// torchtitan on four A100 of 40 GB, which ran out of memory; tests/README.md. The trace of that run has
// these numbers, and 41,102,213,120 B of the device's 42,505,076,736 for the allocator.
constexpr const char* kRecordedPlan = R"(
operators = "pytorch-eager"
batch = {micro_batch = 4, sequence = 2048}
precision = {storage = "bf16", param = "bf16", reduce = "fp32", optimizer_state = "bf16"}
checkpointing = {mode = "every", every = 2}
optimizer = {name = "adamw", kernel = "fused", clip_grad_norm = 1.0}
pytorch = {version = "2.11", implementation = "torchtitan", attention = "flash", repeat_kv = true}

[wrap]
policy = "modules"
modules = ["model.embed_tokens", "model.layers.*", ["model.norm", "lm_head"]]

[sharding]
keep_after_forward = ["model.norm"]
)";

TEST(PeakExplanation, TheRecordedRunOnAnA100FailsAtTheSameRequest) {
  const auto model = load_llama_config("llama-3.1-8b");
  const auto plan = parse_plan(kRecordedPlan, "plan");
  ASSERT_TRUE(model && plan);
  const Machine a100 = *load_machine("a100-sxm-40");
  const auto job = make_job(*model, *plan, "plan", 4, 0, &a100);
  ASSERT_TRUE(job) << job.error().text();
  PredictionOptions options;
  options.machine = &a100;
  options.device_memory = 41'102'213'120;
  options.wants_explanation = true;
  const Prediction p = predict(*job, options);
  ASSERT_TRUE(p.oom);
  EXPECT_EQ(p.oom->operator_name, "aten::_log_softmax");
  EXPECT_EQ(p.oom->request.requested, 4'202'692'608);
  EXPECT_EQ(p.oom->request.allocated, 36'227'704'832);

  // What was alive then.
  const PeakExplanation& peak = *p.explanation;
  EXPECT_EQ(peak.allocated, 36'227'704'832);
  EXPECT_EQ(bytes_held(peak, "parameters"), 4'016'179'200);
  EXPECT_EQ(bytes_held(peak, "unsharded parameters"), 1'050'681'344);
  EXPECT_EQ(bytes_held(peak, "workspaces"), 8'519'680);
  EXPECT_EQ(bytes_held(peak, "activations") + bytes_held(peak, "logits and loss"), 31'152'193'536);

  const std::int64_t outside = 42'505'076'736 - 41'102'213'120;
  EXPECT_LE(p.outside->low, outside);
  EXPECT_GE(p.outside->high, outside);
  options.device_memory.reset();
  EXPECT_FALSE(predict(*job, options).fits);
}

}  // namespace
}  // namespace foreshard::simulator
