// Causal attention by cuDNN: what is quick where cuDNN is installed, in bf16. It stands in a library of
// its own (libforeshard_cudnn.so), so that CUDA works without it.
//
// Tensors lie as models/program/operators.hpp has them: q, out and their gradients [B,S,H,d], k and v
// [B,S,K,d], lse [B,H,S] in fp32 (natural logarithm). cuDNN builds a plan for each shape once. Where no
// plan keeps to the workspace that a program allows for (models/program/operators.hpp, scratch_bytes),
// the answer is false and nothing has been issued.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include <cuda_runtime_api.h>

namespace foreshard::executor::cuda {

struct AttentionShape {
  std::int64_t batch = 0, sequence = 0, heads = 0, kv_heads = 0, head_dim = 0;

  auto operator<=>(const AttentionShape&) const = default;
};

struct AttentionForward {
  const void* q;
  const void* k;
  const void* v;
  void* out;
  float* lse;
};

struct AttentionBackward {
  const void* dout;
  const void* q;
  const void* k;
  const void* v;
  const void* out;
  const float* lse;
  void* dq;
  void* dk;
  void* dv;
};

struct Workspace {
  void* memory;
  std::size_t bytes;
};

// Of one rank's host thread, on the device that was current when it was made. Throws
// std::runtime_error for what cuDNN refuses for other reasons.
class FusedAttention {
 public:
  virtual ~FusedAttention() = default;
  virtual bool forward(const AttentionShape& shape, const AttentionForward& tensors,
                       Workspace workspace, cudaStream_t stream) = 0;
  // Adds up the gradients of keys in a fixed order.
  virtual bool backward(const AttentionShape& shape, const AttentionBackward& tensors,
                        Workspace workspace, cudaStream_t stream) = 0;
};

// nullptr where libforeshard_cudnn.so is not beside this library, cuDNN is not installed, or FORESHARD_CUDNN is 0.
std::unique_ptr<FusedAttention> load_fused_attention();
bool has_fused_attention();       // whether it would be there
std::string attention_library();  // "cuDNN 9.19.0", or "plain (why it is not there)"

}  // namespace foreshard::executor::cuda
