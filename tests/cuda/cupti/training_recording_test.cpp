// A training run on the emulated device, recorded: what every instruction did is in the trace.
#include <map>
#include <set>
#include <stdexcept>
#include <tuple>

#include <gtest/gtest.h>

#include "tests/cli/program_runner.hpp"
#include "traces/fst/fst_file.hpp"

namespace foreshard::cli_tests {
namespace {

using traces::Event;
using traces::EventKind;

// Rank, step and instruction.
using Id = std::tuple<std::int32_t, std::int32_t, std::int32_t>;

TEST(TrainingRecording, HasTheWorkOfEveryInstruction) {
  const Workplace place;
  const Outcome outcome =
      place.run({"train", "--device", "cuda", "--model", "model", "--plan", "plan.toml", "--ranks",
                 "2", "--steps", "2", "--trace", "run.fst", "--matmul-precision", "high"},
                {{"FORESHARD_MODULES", FORESHARD_EMULATED_MODULES}});
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  const auto trace = traces::read_fst(place.path("run.fst").string()).value();
  std::map<Id, Event> issues;
  std::set<Id> worked;
  for (const Event& e : trace.events) {
    const traces::Lane& lane = trace.lanes[static_cast<std::size_t>(e.lane)];
    const bool issues_work = !lane.device && e.kind == EventKind::host && e.cost_key != 0;
    if (issues_work) issues[{lane.rank, e.step, e.instruction}] = e;
  }
  for (const Event& e : trace.events) {
    const traces::Lane& lane = trace.lanes[static_cast<std::size_t>(e.lane)];
    if (!lane.device) continue;
    const Id id{lane.rank, e.step, e.instruction};
    ASSERT_TRUE(issues.contains(id)) << trace.strings[e.name];
    EXPECT_EQ(e.stable_key, issues.at(id).stable_key);
    EXPECT_GE(e.start_ns, issues.at(id).start_ns);
    EXPECT_LE(e.end_ns, trace.complete_until_ns);
    worked.insert(id);
  }
  EXPECT_GT(issues.size(), 100u);
  for (const auto& [id, issue] : issues) {
    EXPECT_TRUE(worked.contains(id)) << trace.strings[issue.name];
  }
  EXPECT_TRUE(trace.complete);
  EXPECT_TRUE(trace.dropped.empty());
  EXPECT_EQ(trace.metadata.at("device.1"), "Foreshard's host device");
  EXPECT_EQ(trace.metadata.at("matmul_precision"), "high");
}

}  // namespace
}  // namespace foreshard::cli_tests
