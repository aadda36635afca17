// Prints tests/models/program/cudnn_workspaces.csv as the real cuDNN answers (scripts/cudnn_workspaces).
#include <array>
#include <cstdio>
#include <set>

#include "tests/cuda/cudnn/described_cudnn.hpp"

using namespace foreshard;
using namespace foreshard::tests;

namespace {

// Batch, sequence, heads, key heads, head_dim.
std::set<std::array<std::int64_t, 5>> shapes() {
  // Of Llama 3.2 1B, 2 7B, 3.1 8B, 2 13B, 3.1 70B, 3.2 3B, Qwen2 0.5B and smaller ones.
  constexpr std::array<std::int64_t, 3> kHeads[] = {
      {32, 8, 64},  {32, 32, 128}, {32, 8, 128}, {40, 40, 128}, {64, 8, 128},
      {24, 8, 128}, {14, 2, 64},   {12, 12, 64}, {16, 16, 80},  {8, 8, 96},
      {6, 6, 64},   {8, 2, 32},    {4, 4, 16}};
  constexpr std::int64_t kSequences[] = {2,   8,   16,  33,   64,   97,   100,  127,  128,  129,
                                         256, 512, 999, 1023, 1024, 2048, 4095, 4096, 8191, 8192};
  std::set<std::array<std::int64_t, 5>> all{{1, 16384, 32, 8, 128},
                                            {1, 131072, 32, 8, 128},
                                            {16, 1024, 32, 8, 64},
                                            {1, 97, 5, 5, 64},
                                            {2, 2048, 32, 8, 64}};
  for (std::size_t i = 0; i < std::size(kHeads); ++i) {
    for (std::size_t j = i % 2; j < std::size(kSequences); j += 2) {
      const auto batch = static_cast<std::int64_t>(kSequences[j] >= 4096 ? 1 : 1 + (i + j) % 3);
      all.insert({batch, kSequences[j], kHeads[i][0], kHeads[i][1], kHeads[i][2]});
    }
  }
  for (std::int64_t d = 8; d <= 128; d += 8) {
    for (const std::int64_t S : {97, 384}) {
      all.insert({2, S, 6, 2, d});
      all.insert({1, S, 5, 5, d});
    }
  }
  return all;
}

}  // namespace

int main() {
  const DescribedCudnn cudnn;
  std::printf("batch,sequence,heads,kv_heads,head_dim");
  for (const DescribedGpu& gpu : kDescribedGpus) {
    for (const AttentionPass& pass : kPasses) {
      std::printf(",%d %s", gpu.compute_capability, pass.name);
    }
  }
  for (const auto& [B, S, H, K, d] : shapes()) {
    std::printf("\n%ld,%ld,%ld,%ld,%ld", B, S, H, K, d);
    for (const DescribedGpu& gpu : kDescribedGpus) {
      for (const AttentionPass& pass : kPasses) {
        std::printf(",%ld", cudnn.workspace(gpu, pass, attention_key(B, S, H, K, d)));
      }
    }
  }
  std::printf("\n");
}
