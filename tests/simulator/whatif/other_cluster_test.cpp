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

// Replicas on eight nodes reduce over the network, however few they are.
TEST(OtherCluster, KnowsWhereTheRanksOfAGroupAre) {
  const Machine a100 = *load_machine("a100-sxm-80"), h100 = *load_machine("h100-sxm");
  const std::string sum = "all_reduce fp32 268435456 8";
  DrawnRecording draw;
  draw.work(draw.stream(), 0, 1000, draw.call(draw.thread(), 0, 5), "ncclDevKernel_AllReduce",
            EventKind::communication, sum);
  traces::Trace trace = draw.trace();
  trace.metadata["device.0"] = "NVIDIA A100-SXM4-80GB";
  trace.metadata["ranks"] = "64";
  const traces::StringId group = trace.strings.intern("replicas [0, 8, 16, 24, 32, 40, 48, 56]");
  trace.events.update_all([&](traces::Event& event) {
    if (event.kind == EventKind::communication) event.group = group;
  });
  const auto run = recorded_run(trace, "");
  const auto factors = cluster_factors({h100, 0}, *run, trace, "");
  ASSERT_TRUE(factors) << factors.error().text();
  EXPECT_NEAR(factors->factors[run->works.front().activity],
              estimate(h100, sum, 64, 8) / estimate(a100, sum, 64, 8), 1e-9);
}

// FlashAttention 2 did not become faster with the part, cuDNN's kernels did.
TEST(OtherCluster, KnowsTheKernelsOfAttentionByName) {
  const auto factor_of = [](const std::string& kernel) {
    DrawnRecording draw;
    draw.work(draw.stream(), 0, 1000, draw.call(draw.thread(), 0, 5), kernel, EventKind::compute,
              "attention bf16 1 8192 32 8 128");
    traces::Trace trace = draw.trace();
    trace.metadata["device.0"] = "NVIDIA H100 80GB HBM3";
    const auto run = recorded_run(trace, "");
    return cluster_factors({*load_machine("b200"), 0}, *run, trace, "")
        ->factors[run->works.front().activity];
  };
  const double flash = factor_of("void pytorch_flash::flash_fwd_kernel<Flash_fwd_kernel_traits>");
  const double cudnn = factor_of("cudnn_generated_fort_native_sdpa_sm90_flash_fprop_wgmma_f16");
  EXPECT_GT(flash, 1.1 * cudnn);
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
