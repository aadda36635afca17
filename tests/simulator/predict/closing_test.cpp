// What a run leaves on the host after its last step is predicted with it.
#include <gtest/gtest.h>

#include "models/lowering/lower.hpp"
#include "simulator/predict/prediction.hpp"
#include "tests/small_llama.hpp"

namespace foreshard::simulator {
namespace {

// Of rank 1's shards, each in a host buffer of its own that is a multiple of 64 bytes: the parameters and
// two states of each, all in fp32. The copies come after the last step and change nothing before it.
TEST(Closing, ACheckpointIsCopiedToTheHostAfterTheLastStep) {
  const Job job = *make_job(tests::small_llama({64, 160, 3, 4, 2, 300}), {}, "defaults", 3);
  std::int64_t parameters = 0, states = 0;
  for (const UnitLayout& unit : unit_layouts(job, place_of(job, 1))) {
    for (const ParameterShard& shard : unit.parameters) {
      parameters += round_up(4 * shard.padded, 64);
      states += 2 * round_up(4 * shard.local, 64);
    }
  }
  std::int64_t kept = 0;  // what the host holds at the end of any step
  for (const Buffer& buffer : lower(job, 1).buffers) {
    if (buffer.on_host && buffer.persistent) kept += round_up(buffer.bytes, 64);
  }
  const Machine machine = *load_machine("h100-sxm");
  for (const Machine* on : {&machine, static_cast<const Machine*>(nullptr)}) {
    PredictionOptions options;
    options.machine = on;
    options.keeps_memory_records = true;
    const Prediction plain = predict(job, options);
    EXPECT_EQ(plain.closing_time.count(), 0);
    options.run.exports_weights = true;
    const Prediction exported = predict(job, options);
    options.run.saves = true;
    const Prediction saved = predict(job, options);
    for (const Prediction* p : {&exported, &saved}) {
      EXPECT_EQ(p->step_time, plain.step_time);
      EXPECT_EQ(p->ranks_memory[1].peaks, plain.ranks_memory[1].peaks);
      EXPECT_EQ(p->steps_memory.size(), plain.steps_memory.size());
    }
    EXPECT_EQ(exported.ranks_memory[1].peak_host, kept + parameters);
    EXPECT_EQ(saved.ranks_memory[1].peak_host, kept + parameters + states);
    EXPECT_GT(exported.closing_time.count(), 0);
    EXPECT_GT(saved.closing_time, exported.closing_time);
    const traces::Trace trace = to_trace(job, saved, "test");
    EXPECT_EQ(trace.steps.size(), to_trace(job, plain, "test").steps.size());
    std::int64_t bytes = 0;  // copied in the closing programs of one rank
    for (const traces::Event& e : trace.events) {
      const traces::Lane& lane = trace.lanes[static_cast<std::size_t>(e.lane)];
      if (lane.device && lane.rank == 0 && trace.strings[e.stable_key].starts_with("closing")) {
        EXPECT_EQ(trace.strings[e.name], "copy_device_to_host");
        EXPECT_GE(e.step, 3);
        bytes += e.bytes;
      }
    }
    std::int64_t expected = 0;
    for (const UnitLayout& unit : unit_layouts(job, place_of(job, 0))) {
      expected += 4 * unit.padded + 8 * unit.local;
    }
    EXPECT_EQ(bytes, expected);
  }
}

}  // namespace
}  // namespace foreshard::simulator
