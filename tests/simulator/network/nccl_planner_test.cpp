// What NCCL chooses, against what is seen on machines and against its formula worked by hand.
#include "simulator/network/nccl_planner.hpp"

#include <array>

#include <gtest/gtest.h>

namespace foreshard::simulator {
namespace {

constexpr double kKibibyte = 1024, kMebibyte = 1024 * kKibibyte, kGibibyte = 1024 * kMebibyte;
constexpr std::array kOnOneNode{Algorithm::ring, Algorithm::tree, Algorithm::nvls};
constexpr std::array kBetweenNodes{Algorithm::ring, Algorithm::tree, Algorithm::nvls_tree};

TEST(NcclPlanner, AllReduceOnEightH200ByHand) {
  // In microseconds. A ring with LL has 14 hops of 0.6 after 6.6, and 141 GB/s at most, of which
  // 8/14 count: 80.57 bytes a nanosecond. Switches take 25 and have 8 channels of 40 GB/s at 85 %
  // and 7/8, twice 8/14 of which count: 272. NCCL changes from the one to the other between 1 and
  // 2 MiB, as is seen on the machine (NCCL 2.27.7).
  for (const double bytes : {32 * kKibibyte, 256 * kKibibyte, kMebibyte, 2 * kMebibyte,
                             16 * kMebibyte, 256 * kMebibyte, kGibibyte}) {
    const double ring = 15.0 + bytes / 80.57e3, switches = 25 + bytes / 272e3;
    const NcclChoice choice = nccl_choice({}, Operator::all_reduce, bytes, 8, 1, kOnOneNode);
    EXPECT_EQ(choice.algorithm == Algorithm::ring, ring < switches) << bytes;
    EXPECT_EQ(choice.algorithm == Algorithm::ring, bytes <= kMebibyte) << bytes;
    EXPECT_EQ(choice.protocol, bytes <= kMebibyte ? Protocol::ll : Protocol::simple) << bytes;
  }
}

TEST(NcclPlanner, LargeGathersAreSimpleRings) {
  const NcclChoice choice =
      nccl_choice({}, Operator::all_gather, kGibibyte, 8, 1, std::array{Algorithm::ring});
  EXPECT_EQ(choice.algorithm, Algorithm::ring);
  EXPECT_EQ(choice.protocol, Protocol::simple);
}

TEST(NcclPlanner, SmallAllReducesOfManyNodesAreTrees) {
  // A tree's latency grows with the logarithm of the nodes, a ring's with the nodes.
  NcclSystem system;
  system.node_nic_gb_s = 400;
  const auto chosen = [&](double bytes) {
    return nccl_choice(system, Operator::all_reduce, bytes, 512, 64, kBetweenNodes).algorithm;
  };
  EXPECT_EQ(chosen(64 * kKibibyte), Algorithm::tree);
  EXPECT_NE(chosen(64 * kMebibyte), Algorithm::ring);
}

TEST(NcclPlanner, LL128NeedsNvlink) {
  NcclSystem pcie;
  pcie.has_nvlink = pcie.has_nvls = false;
  for (double bytes = 1; bytes < kGibibyte; bytes *= 3) {
    const auto choice =
        nccl_choice(pcie, Operator::all_gather, bytes, 8, 1, std::array{Algorithm::ring});
    EXPECT_NE(choice.protocol, Protocol::ll128) << bytes;
  }
}

TEST(NcclPlanner, SmallBuffersTakeFewerChannels) {
  const std::array ring{Algorithm::ring};
  // Simple wants 64 bytes for each of 512 threads; a GiB has them for all 2 x 12 channels.
  EXPECT_EQ(nccl_choice({}, Operator::all_gather, kGibibyte, 8, 1, ring).channels, 24);
  EXPECT_EQ(nccl_choice({}, Operator::all_gather, 1, 8, 1, ring).channels, 1);
  // LL on a ring of 8 ranks: 8 x 8 bytes for each of 512 threads.
  EXPECT_EQ(nccl_choice({}, Operator::all_gather, 5.5 * 64 * 512, 8, 1, ring).channels, 5);
  NcclSystem blackwell;
  blackwell.generation = GpuGeneration::blackwell;
  blackwell.channels = 16;
  EXPECT_EQ(most_channels(blackwell, Algorithm::ring), 16);
  EXPECT_EQ(most_channels({}, Algorithm::nvls), 16);
}

TEST(NcclPlanner, NamesAreThoseOfNcclAlgo) {
  for (const auto* name : {"ring", "tree", "nvls", "nvlstree", "pat"}) {
    ASSERT_TRUE(algorithm_named(name)) << name;
    EXPECT_EQ(name_of(*algorithm_named(name)), name);
  }
  EXPECT_FALSE(algorithm_named("collnet"));
}

}  // namespace
}  // namespace foreshard::simulator
