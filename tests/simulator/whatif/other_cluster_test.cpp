// Another machine and another number of ranks: against the cost model that both are estimated by.
#include "simulator/whatif/other_cluster.hpp"

#include <gtest/gtest.h>

#include "simulator/costs/cost_model.hpp"
#include "simulator/whatif/what_if.hpp"
#include "tests/simulator/whatif/drawn_recording.hpp"

namespace foreshard::simulator {
namespace {

using traces::EventKind;

constexpr const char* kProduct = "matmul bf16 8192 4096 4096 0";

// One product, one all-gather of 8 ranks and one kernel of which nothing is known, back to back.
traces::Trace recorded_on(const std::string& device) {
  DrawnRecording draw;
  const int host = draw.thread(), stream = draw.stream();
  draw.work(stream, 30, 1030, draw.call(host, 0, 5), "gemm", EventKind::compute, kProduct);
  draw.work(stream, 1031, 2031, draw.call(host, 10, 15), "ncclDevKernel_AllGather",
            EventKind::communication, "all_gather bf16 268435456 8");
  draw.work(stream, 2032, 3032, draw.call(host, 20, 25), "some kernel");
  traces::Trace trace = draw.trace();
  trace.metadata["device.0"] = device;
  trace.metadata["ranks"] = "8";
  return trace;
}

std::vector<double> factors_of(const OtherCluster& other) {
  const traces::Trace trace = recorded_on("NVIDIA A100-SXM4-80GB");
  const auto run = recorded_run(trace, "");
  const auto factors = cluster_factors(other, *run, trace, "");
  EXPECT_TRUE(factors) << factors.error().text();
  std::vector<double> of_work;
  for (const RecordedWork& work : run->works) of_work.push_back(factors->factors[work.activity]);
  return of_work;
}

double estimate(const Machine& machine, const std::string& text, int ranks, int nodes) {
  CostKey key;
  EXPECT_TRUE(parse_cost_key(text, key));
  return machine_costs(machine, ranks, 0)->estimate(key, {false, nodes}).ns;
}

TEST(OtherCluster, TakesTheRatioOfEstimates) {
  const Machine a100 = *load_machine("a100-sxm-80"), h100 = *load_machine("h100-sxm");
  const std::vector<double> factors = factors_of({h100, 0});
  const std::string gather = "all_gather bf16 268435456 8";
  EXPECT_DOUBLE_EQ(factors[0], estimate(h100, kProduct, 8, 1) / estimate(a100, kProduct, 8, 1));
  EXPECT_DOUBLE_EQ(factors[1], estimate(h100, gather, 8, 1) / estimate(a100, gather, 8, 1));
  EXPECT_DOUBLE_EQ(factors[2], a100.memory_bandwidth / h100.memory_bandwidth);
  for (const double factor : factors) EXPECT_LT(factor, 1) << "an H100 is faster in everything";
}

TEST(OtherCluster, OfTheSameMachineAndRanksChangesNothing) {
  EXPECT_EQ(factors_of({*load_machine("a100-sxm-80"), 8}), (std::vector<double>{1, 1, 1}));
}

TEST(OtherCluster, MoreRanksAreOnMoreNodes) {
  const std::vector<double> factors = factors_of({std::nullopt, 64});
  const Machine a100 = *load_machine("a100-sxm-80");
  EXPECT_EQ(factors[0], 1);
  EXPECT_DOUBLE_EQ(factors[1], estimate(a100, "all_gather bf16 268435456 64", 64, 8) /
                                   estimate(a100, "all_gather bf16 268435456 8", 8, 1));
  EXPECT_GT(factors[1], 1);
}

TEST(OtherCluster, SaysWhatItAssumes) {
  const traces::Trace trace = recorded_on("NVIDIA A100-SXM4-80GB");
  const auto answer = what_if(trace, {{}, {*load_machine("h100-sxm"), 64}}, "");
  ASSERT_TRUE(answer) << answer.error().text();
  ASSERT_EQ(answer->assumptions.size(), 3U);
  EXPECT_NE(what_if_text(*answer).find(answer->assumptions[0]), std::string::npos);
}

TEST(OtherCluster, NeedsAMachineToCompareWith) {
  const auto answer =
      what_if(recorded_on("Some GPU"), {{}, {*load_machine("h100-sxm"), 0}}, "a.fst");
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().file, "a.fst");
  EXPECT_EQ(answer.error().field, "--machine");
}

}  // namespace
}  // namespace foreshard::simulator
