// The real cuDNN against the table that formulas of scratch are held to.
#include <algorithm>

#include <gtest/gtest.h>

#include "tests/cuda/cudnn/described_cudnn.hpp"
#include "tests/draws.hpp"

namespace foreshard::tests {
namespace {

TEST(CudnnWorkspaces, AreThoseOfTheTable) {
  const DescribedCudnn cudnn;
  for (const WorkspaceRow& row : read_workspaces()) {
    auto expected = row.bytes.begin();
    for (const DescribedGpu& gpu : kDescribedGpus) {
      for (const AttentionPass& pass : kPasses) {
        EXPECT_EQ(cudnn.workspace(gpu, pass, row.attention), *expected++)
            << text(row.attention) << ", " << pass.name << " on " << gpu.compute_capability;
      }
    }
  }
}

// What is asked before a plan is compiled is what the compiled one takes.
TEST(CudnnWorkspaces, AreThoseOfCompiledPlans) {
  const DescribedCudnn cudnn;
  const auto rows = read_workspaces();
  constexpr int kMostRounds = 16;  // about five minutes
  std::size_t i = 0;
  for (int round = 0; round < std::min(draws(1), kMostRounds); ++round) {
    for (const DescribedGpu& gpu : kDescribedGpus) {
      for (const AttentionPass& pass : kPasses) {
        const CostKey& attention = rows[i = (i + 89) % rows.size()].attention;
        EXPECT_EQ(cudnn.workspace(gpu, pass, attention, true),
                  cudnn.workspace(gpu, pass, attention))
            << text(attention) << ", " << pass.name << " on " << gpu.compute_capability;
      }
    }
  }
}

// One token: backward is what decides (models/program/attention_workspace.hpp).
TEST(CudnnWorkspaces, RefusesOneToken) {
  const DescribedCudnn cudnn;
  for (const DescribedGpu& gpu : kDescribedGpus) {
    EXPECT_THROW(cudnn.workspace(gpu, kPasses[1], attention_key(1, 1, 4, 4, 64)),
                 std::runtime_error);
  }
}

}  // namespace
}  // namespace foreshard::tests
