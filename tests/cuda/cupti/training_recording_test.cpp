// A training run on the emulated device, recorded: what every instruction did is in the trace.
#include <map>
#include <set>
#include <stdexcept>
#include <tuple>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

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
  // Segments of the allocator stand there as such, and not once more: what else is taken of the
  // devices is little, and before the first instruction.
  std::int64_t outside = 0;
  for (const traces::MemoryEvent& e : trace.memory) {
    if (!is_outside(e.action)) continue;
    EXPECT_EQ(e.action, traces::MemoryAction::outside_alloc);
    EXPECT_EQ(e.instruction, traces::kNone);
    outside += e.bytes;
  }
  EXPECT_GT(outside, 0);
  EXPECT_LT(outside, 1 << 20);
  EXPECT_TRUE(trace.complete);
  EXPECT_TRUE(trace.dropped.empty());
  EXPECT_EQ(trace.metadata.at("device.1"), "Foreshard's host device");
  EXPECT_EQ(trace.metadata.at("matmul_precision"), "high");
}

// Kernels have names of their own, which a prediction does not know: neither appears beside the
// other.
TEST(TrainingRecording, ComparesWithItsPredictionByOperator) {
  const Workplace place;
  const auto train = place.run({"train", "--device", "cuda", "--model", "model", "--plan",
                                "plan.toml", "--ranks", "2", "--steps", "3", "--trace", "run.fst"},
                               {{"FORESHARD_MODULES", FORESHARD_EMULATED_MODULES}});
  ASSERT_EQ(train.status, 0) << train.err;
  const auto predict =
      place.run({"predict", "--model", "model", "--plan", "plan.toml", "--ranks", "2", "--device",
                 "cuda", "--machine", "h100-sxm", "--operators", "foreshard", "--steps", "3", "--trace", "predicted.fst"});
  ASSERT_EQ(predict.status, 0) << predict.err;
  const Outcome compared = place.run({"compare", "run.fst", "predicted.fst", "--json", "-"});
  const auto result = nlohmann::json::parse(compared.out, nullptr, false);
  ASSERT_TRUE(result.is_object()) << compared.err;
  int found = 0;
  for (const auto& change : result.at("changes")) {
    EXPECT_NE(change.at("change"), "appeared") << change;
    EXPECT_NE(change.at("change"), "vanished") << change;
    ++found;
  }
  EXPECT_GT(found, 5);
}

}  // namespace
}  // namespace foreshard::cli_tests
