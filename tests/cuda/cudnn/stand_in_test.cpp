// That the stand-in of cuDNN is as non-deterministic as cuDNN, so that tests of determinism can fail, and can refuse.
#include <gtest/gtest.h>

#include "executor/cuda/kernels/cudnn/fused_attention.hpp"
#include "tests/cuda/cudnn/stand_in_cudnn.hpp"
#include "tests/executor/cpu/attention_reference.hpp"

namespace foreshard::executor {
namespace {

std::vector<std::byte> query_gradients(bool is_deterministic) {
  const AttentionShape s{1, 64, 1, 1, 32};
  const AttentionValues x(s, DType::bf16);
  const Launch forward = forward_launch(s, DType::bf16, x.q, x.k, x.v);
  std::vector<Tensor> done = run(forward);
  Launch launch = backward_launch(s, DType::bf16, forward, done, x.dout);
  std::vector<std::byte> scratch(1 << 20);
  cudaStream_t stream = nullptr;
  EXPECT_EQ(cudaStreamCreateWithPriority(&stream, cudaStreamNonBlocking, 0), cudaSuccess);
  const auto at = [](Tensor& t) { return static_cast<void*>(t.bytes.data()); };
  auto& in = launch.reads;
  auto& out = launch.writes;
  const cuda::StandInCudnn is_there;
  EXPECT_FALSE(cuda::load_fused_attention()->backward(
      {1, 64, 1, 1, 32, 1, 1}, is_deterministic,
      {at(in[0]), at(in[1]), at(in[2]), at(in[3]), at(in[4]), static_cast<const float*>(at(in[5])),
       at(out[0]), at(out[1]), at(out[2])},
      {scratch.data(), scratch.size()}, stream));
  EXPECT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
  EXPECT_EQ(cudaStreamDestroy(stream), cudaSuccess);
  return out[0].bytes;
}

TEST(CudnnStandIn, IsDeterministicOnRequestOnly) {
  EXPECT_TRUE(query_gradients(false) != query_gradients(false));
  EXPECT_TRUE(query_gradients(true) == query_gradients(true));
}

}  // namespace
}  // namespace foreshard::executor
