// One launch of a kernel as a device gets it: its instruction, with operands resolved to
// where they lie and the step's numbers by value.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "models/llama/llama_config.hpp"
#include "models/program/operators.hpp"
#include "models/sharding/places.hpp"

namespace foreshard::executor {

// What kernels need of the model, the optimizer and the step, beyond sizes.
struct KernelScalars {
  double rms_norm_eps = 1e-6;
  double rope_theta = 10000;
  RopeScaling rope_scaling{};
  double lr = 0;  // of this step
  double beta1 = 0.9, beta2 = 0.999, eps = 1e-8;
  double weight_decay = 0;
  double clip_grad_norm = 0;  // 0: gradients are not clipped
  std::int64_t optimizer_step = 1;

  bool operator==(const KernelScalars&) const = default;
};

struct KernelLaunch {
  const CostKey& key;
  // In the order of models/program/operators.hpp; memory of the device that the kernel runs on.
  std::span<const std::span<const std::byte>> reads;
  std::span<const std::span<std::byte>> writes;
  std::int32_t aux = 0;
  const UnitLayout* unit = nullptr;  // for operators that move a unit's parameters
  KernelScalars scalars{};
};

}  // namespace foreshard::executor
