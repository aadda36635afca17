// Scratch of attention against what cuDNN was asked for (workspace_table.hpp).
#include <gtest/gtest.h>

#include "tests/models/program/workspace_table.hpp"
#include "tests/small_llama.hpp"

namespace foreshard::tests {
namespace {

CostKey backward_of(CostKey attention) {
  attention.op = Operator::attention_backward;
  return attention;
}

TEST(AttentionWorkspace, IsWhatCudnnAsksFor) {
  const auto rows = read_workspaces();
  ASSERT_GT(rows.size(), 150u);
  for (const WorkspaceRow& row : rows) {
    auto asked = row.bytes.begin();
    for (const DescribedGpu& gpu : kDescribedGpus) {
      for (const AttentionPass& pass : kPasses) {
        const auto [B, S, H, K, d, W] = row.attention.dims;
        const AttentionPart part = pass.part(row.attention, gpu);
        CostKey launch = attention_key(part.batch, S, H / K * part.kv_heads, part.kv_heads, d);
        launch.op = pass.op;
        EXPECT_EQ(cudnn_workspace(launch, gpu.compute_capability, pass.is_deterministic).count,
                  *asked)
            << text(launch) << ", " << pass.name << " on " << gpu.compute_capability;
        ++asked;
      }
    }
  }
}

// Layers with a window have the plain kernel, the others cuDNN's.
TEST(AttentionWorkspace, WindowsAreThePlainKernels) {
  constexpr DescribedGpu kHopper{90, 132, 232'448};
  CostKey key = backward_of(attention_key(2, 2048, 32, 8, 64));
  EXPECT_GT(scratch_bytes(key, kHopper.traits(false)).count, 4 * 2 * 2048 * 32);
  key.dims[5] = 256;
  EXPECT_EQ(scratch_bytes(key, kHopper.traits(false)).count, 4 * 2 * 2048 * 32);

  LlamaConfig model = small_llama({256, 512, 3, 4, 2, 1000});
  model.family = ModelFamily::qwen2;
  model.attention_bias = true;
  const auto kernel = [&](std::int64_t window, std::int64_t first_layer, bool deterministic) {
    model.sliding_window = window;
    model.first_window_layer = first_layer;
    Plan plan;
    plan.batch.sequence = 512;
    plan.pytorch.deterministic = deterministic;
    return std::string(attention_kernel(
        *make_job(model, plan, "plan.toml", 2, 0, nullptr, kHopper.traits(deterministic))));
  };
  EXPECT_EQ(kernel(0, 0, false), "cuDNN");
  EXPECT_EQ(kernel(512, 0, false), "cuDNN");
  EXPECT_EQ(kernel(511, 0, false), "plain");
  EXPECT_EQ(kernel(511, 2, false), "cuDNN; plain within sliding windows");
  EXPECT_EQ(kernel(511, 2, true), "cuDNN, deterministic; plain within sliding windows");
  EXPECT_EQ(kernel(511, 3, false), "cuDNN");
}

// A fall-back to the plain kernel, which keeps 4 bytes a row, never lacks room either.
TEST(AttentionWorkspace, HasRoomForCudnnAndForThePlainKernel) {
  for (const WorkspaceRow& row : read_workspaces()) {
    auto asked = row.bytes.begin();
    for (const DescribedGpu& gpu : kDescribedGpus) {
      for (const AttentionPass& pass : kPasses) {
        const std::int64_t bytes = *asked++;
        if (pass.op == Operator::attention) continue;
        const CostKey backward = backward_of(row.attention);
        const DeviceTraits traits = gpu.traits(pass.is_deterministic);
        const auto [B, S, H, K, d, W] = row.attention.dims;
        EXPECT_EQ(scratch_bytes(backward, traits).count, std::max(bytes, 4 * B * S * H))
            << text(backward) << ", " << pass.name << " on " << gpu.compute_capability;
      }
    }
  }
}

// NVIDIA/cudnn-frontend pull request 398: deterministic on Hopper, the workspace is quadratic. A key head of
// a sequence stays below what is there anyway, or is all that is taken; Blackwell takes all at once.
TEST(AttentionWorkspace, DeterministicBackwardIsInParts) {
  constexpr DescribedGpu kHopper{90, 132, 232'448}, kBlackwell{100, 148, 232'448};
  const CostKey of_1b = backward_of(attention_key(2, 2048, 32, 8, 64)),
                is_long = backward_of(attention_key(1, 8192, 32, 8, 128)),
                is_short = backward_of(attention_key(4, 128, 32, 8, 64));
  const auto part = [](const CostKey& key, const DescribedGpu& gpu) {
    return cudnn_backward_part(key, gpu.traits(true));
  };
  const auto scratch = [](const CostKey& key, const DescribedGpu& gpu, bool is_deterministic) {
    return scratch_bytes(key, gpu.traits(is_deterministic)).count;
  };
  EXPECT_EQ(part(of_1b, kHopper), (AttentionPart{1, 1}));
  EXPECT_EQ(scratch(of_1b, kHopper, true), 35'684'608);
  EXPECT_EQ(scratch(of_1b, kHopper, false), 67'633'408);
  EXPECT_EQ(part(is_long, kHopper), (AttentionPart{1, 1}));
  EXPECT_EQ(scratch(is_long, kHopper, true), 553'779'456);
  EXPECT_EQ(part(is_short, kHopper), (AttentionPart{4, 8}));
  EXPECT_EQ(part(of_1b, kBlackwell), (AttentionPart{2, 8}));
  EXPECT_EQ(cudnn_backward_part(of_1b, kHopper.traits(false)), (AttentionPart{2, 8}));
}

TEST(AttentionWorkspace, CudnnComputesBf16OfSomeHeadsAndMoreThanOneToken) {
  constexpr DescribedGpu kHopper{90, 132, 232'448};
  const auto is_fused = [&](const CostKey& key) {
    return is_fused_attention(key, kHopper.traits(false));
  };
  EXPECT_TRUE(is_fused(attention_key(1, 2, 4, 4, 128)));
  EXPECT_FALSE(is_fused(attention_key(1, 1, 4, 4, 128)));
  EXPECT_FALSE(is_fused(attention_key(1, 2, 4, 4, 136)));
  EXPECT_FALSE(is_fused(attention_key(1, 2, 4, 4, 12)));
  CostKey fp32 = attention_key(1, 2, 4, 4, 128);
  fp32.dtype = DType::fp32;
  EXPECT_FALSE(is_fused(fp32));
  EXPECT_FALSE(is_fused_attention(attention_key(1, 2, 4, 4, 128), DeviceTraits{}));
}

}  // namespace
}  // namespace foreshard::tests
