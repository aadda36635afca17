// Causal attention by cuDNN: what is quick where cuDNN is installed, in bf16. It stands in a library of
// its own (libforeshard_cudnn.so), so that CUDA works without it.
//
// Tensors lie as models/program/operators.hpp has them: q, out and their gradients [B,S,H,d], k and v
// [B,S,K,d], lse [B,H,S] in fp32 (natural logarithm). Of each launch cuDNN builds a plan once, by compiling
// it: the process keeps it for all its ranks on a GPU.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include <cuda_runtime_api.h>

namespace foreshard::executor::cuda {

// What a launch covers: heads that lie side by side in the rows of more.
struct AttentionShape {
  std::int64_t batch = 0, sequence = 0, heads = 0, kv_heads = 0, head_dim = 0;
  std::int64_t row_heads = 0, row_kv_heads = 0;  // that a token has

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

// Why nothing has been issued; nothing: it has. It follows from shapes, alignment and workspace alone.
using Refusal = std::optional<std::string>;

// Of one rank's host thread, on the device that was current when it was made. Throws nothing.
class FusedAttention {
 public:
  virtual ~FusedAttention() = default;
  virtual Refusal forward(const AttentionShape& shape, const AttentionForward& tensors,
                          Workspace workspace, cudaStream_t stream) = 0;
  // `is_deterministic`: the gradients of queries are added up in a fixed order.
  virtual Refusal backward(const AttentionShape& shape, bool is_deterministic,
                           const AttentionBackward& tensors, Workspace workspace,
                           cudaStream_t stream) = 0;
};

// nullptr where libforeshard_cudnn.so is not beside this library, cuDNN is not installed, or FORESHARD_CUDNN is 0.
std::unique_ptr<FusedAttention> load_fused_attention();
bool has_fused_attention();       // whether it would be there
std::string attention_library();  // "cuDNN 9.19.0", or "plain (why it is not there)"

// For tests: what the plan that cuDNN prefers asks for, on a GPU that need not be there.
struct WorkspaceQuestion {
  const char* device;      // cudnn-frontend's DeviceProperties, as JSON
  int compute_capability;  // 90 for 9.0
  AttentionShape shape;
  bool is_backward, is_deterministic;
  bool compiles;  // builds the plan, as before a launch, which takes a second
};
// foreshard_cudnn_workspace of libforeshard_cudnn.so: bytes. Throws std::runtime_error with cuDNN's refusal.
using CudnnWorkspace = std::int64_t (*)(const WorkspaceQuestion& question);

}  // namespace foreshard::executor::cuda
