// How the plan file spells each enumerator. Reading, writing, messages and reports use these lists;
// a word's position is its enumerator's value.
#pragma once

#include <array>
#include <string_view>

#include "models/base/assertion.hpp"
#include "models/plan/plan.hpp"

namespace foreshard {

template <typename E>
inline constexpr std::array<std::string_view, 0> kWords{};

template <>
inline constexpr std::array<std::string_view, 4> kWords<OperatorSetName>{
    "foreshard", "pytorch-eager", "pytorch-compile", "xla"};
template <>
inline constexpr std::array<std::string_view, 3> kWords<RuntimeName>{"fsdp2", "fsdp1", "ddp"};
template <>
inline constexpr std::array<std::string_view, 2> kWords<When>{"every", "last"};
template <>
inline constexpr std::array<std::string_view, 4> kWords<WrapPolicy>{"none", "transformer", "size",
                                                                    "modules"};
template <>
inline constexpr std::array<std::string_view, 5> kWords<Strategy>{
    "full_shard", "shard_grad_op", "no_shard", "hybrid_shard", "hybrid_shard_zero2"};
template <>
inline constexpr std::array<std::string_view, 3> kWords<BackwardPrefetch>{"pre", "post", "none"};
template <>
inline constexpr std::array<std::string_view, 2> kWords<DType>{"fp32", "bf16"};
template <>
inline constexpr std::array<std::string_view, 5> kWords<CheckpointMode>{
    "none", "full", "every", "selective", "transformers"};
template <>
inline constexpr std::array<std::string_view, 2> kWords<OptimizerName>{"adamw", "sgd"};
template <>
inline constexpr std::array<std::string_view, 3> kWords<OptimizerKernel>{"fused", "foreach",
                                                                         "loop"};
template <>
inline constexpr std::array<std::string_view, 2> kWords<AdapterDType>{"storage", "fp32"};
template <>
inline constexpr std::array<std::string_view, 3> kWords<Schedule>{"constant", "linear", "cosine"};
template <>
inline constexpr std::array<std::string_view, 4> kWords<ImplementationName>{
    "torchtitan", "torchtitan-2025.12", "torchtitan-2026.02", "transformers"};
template <>
inline constexpr std::array<std::string_view, 2> kWords<TrainingLoop>{"plain", "trainer"};
template <>
inline constexpr std::array<std::string_view, 4> kWords<ModelSetup>{"auto", "meta", "host",
                                                                    "device"};
template <>
inline constexpr std::array<std::string_view, 2> kWords<Autocast>{"none", "bf16"};
template <>
inline constexpr std::array<std::string_view, 3> kWords<AttentionMask>{"none", "ones", "padded"};
template <>
inline constexpr std::array<std::string_view, 5> kWords<AttentionBackend>{
    "auto", "flash", "efficient", "cudnn", "math"};
template <>
inline constexpr std::array<std::string_view, 2> kWords<RopeArithmetic>{"complex", "half"};
template <>
inline constexpr std::array<std::string_view, 3> kWords<LossKind>{"whole", "chunked", "compiled"};
template <>
inline constexpr std::array<std::string_view, 3> kWords<RmsNormKind>{"auto", "composite", "fused"};
template <>
inline constexpr std::array<std::string_view, 3> kWords<Float8Scaling>{"none", "tensorwise",
                                                                       "rowwise"};
template <>
inline constexpr std::array<std::string_view, 3> kWords<CompileScope>{"blocks", "blocks+loss",
                                                                      "model"};
template <>
inline constexpr std::array<std::string_view, 2> kWords<ZeroGrad>{"none", "zeros"};
template <>
inline constexpr std::array<std::string_view, 2> kWords<GpuTiming>{"ready", "late"};

template <typename E>
concept PlanWord = kWords<E>
.size() > 0;

template <PlanWord E>
constexpr std::string_view word(E value) {
  const auto index = static_cast<std::size_t>(value);
  FORESHARD_ASSERT(index < kWords<E>.size(), "a plan holds a value that no plan file can spell");
  return kWords<E>[index];
}

}  // namespace foreshard
