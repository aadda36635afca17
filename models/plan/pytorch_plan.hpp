// The part of a plan that describes PyTorch: its version, whose Llama runs, which kernels it picks,
// and the switches of its runtimes. It is for the operator sets that describe PyTorch. Under
// operators "foreshard" four keys count: `implementation` (the order of modules) where it is written,
// `deterministic`, and FSDP2's switches `async_unshard` and `keep_sharded_in_backward`.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "models/base/dtype.hpp"
#include "models/plan/pytorch_version.hpp"

namespace foreshard {

// Whose Llama: a plain one in torchtitan's style, torchtitan's own of a month, transformers'.
enum class ImplementationName : std::uint8_t {
  torchtitan,
  torchtitan_2025_12,
  torchtitan_2026_02,
  transformers
};
enum class TrainingLoop : std::uint8_t { plain, trainer };
enum class ModelSetup : std::uint8_t { automatic, meta, host, device };
enum class Autocast : std::uint8_t { none, bf16 };
enum class AttentionMask : std::uint8_t { none, ones, padded };
enum class AttentionBackend : std::uint8_t { automatic, flash, efficient, cudnn, math };
enum class RopeArithmetic : std::uint8_t { complex, half };
enum class LossKind : std::uint8_t { whole, chunked, compiled };
enum class RmsNormKind : std::uint8_t { automatic, composite, fused };
enum class Float8Scaling : std::uint8_t { none, tensorwise, rowwise };
enum class CompileScope : std::uint8_t { blocks, blocks_and_loss, model };
enum class ZeroGrad : std::uint8_t { none, zeros };
enum class GpuTiming : std::uint8_t { ready, late };

// DDP's bucket_cap_mb; nothing: None, 25 MiB with a first bucket of 1 MiB.
struct BucketCap {
  std::optional<std::int64_t> mebibytes;
  bool operator==(const BucketCap&) const = default;
};

struct PyTorchPlan {
  PyTorchVersion version{2, 11};
  // Nothing: not written; PyTorch's operators are torchtitan's then, modules of operators
  // "foreshard" those of transformers.
  std::optional<ImplementationName> implementation;
  TrainingLoop loop = TrainingLoop::plain;
  ModelSetup setup = ModelSetup::automatic;  // by runtime: model_setup
  Autocast autocast = Autocast::none;
  AttentionMask attention_mask = AttentionMask::none;
  AttentionBackend attention = AttentionBackend::automatic;
  bool repeat_kv = false;
  RopeArithmetic rope = RopeArithmetic::complex;
  DType logits = DType::fp32;
  bool keep_logits = false;
  LossKind loss = LossKind::whole;
  RmsNormKind rms_norm = RmsNormKind::automatic;  // what the version does
  Float8Scaling float8 = Float8Scaling::none;
  CompileScope compile = CompileScope::blocks;
  bool deterministic = false;
  std::int64_t read_loss_every = 1;  // steps
  ZeroGrad zero_grad = ZeroGrad::none;
  bool checkpoint_early_stop = false;
  bool async_unshard = false;
  std::vector<std::string> keep_sharded_in_backward;
  std::string cublas_workspace_config;
  bool use_orig_params = true;              // fsdp1
  GpuTiming gpu_timing = GpuTiming::ready;  // fsdp1, ddp
  BucketCap bucket_cap_mb;                  // ddp
  bool find_unused_parameters = false;      // ddp
  bool init_sync = true;                    // ddp
  bool gradient_as_bucket_view = false;     // ddp
  bool static_graph = false;                // ddp
  bool operator==(const PyTorchPlan&) const = default;
};

}  // namespace foreshard
