// The scalars of one step of an optimizer, by one formula for every device: made in double, used in
// fp32.
#pragma once

#include <cmath>

#include "executor/device/kernel_launch.hpp"

namespace foreshard::executor {

// As PyTorch's fused kernel has them.
struct AdamwScalars {
  float clip = 1;  // gradients are multiplied by it
  float keep = 1;  // 1 - lr * weight_decay
  float beta1 = 0, beta2 = 0;
  float beta1_rest = 0, beta2_rest = 0;  // 1 - beta, made in double
  float step = 0;                        // lr / (1 - beta1^k)
  float root = 1;                        // sqrt(1 - beta2^k)
  float eps = 0;
};

struct SgdScalars {
  float clip = 1, weight_decay = 0, lr = 0;
};

// Decoupled weight decay and bias correction as in PyTorch; `clip` is left at 1.
inline AdamwScalars adamw_scalars(const KernelScalars& s) {
  const double step = static_cast<double>(s.optimizer_step);
  return {.keep = static_cast<float>(1 - s.lr * s.weight_decay),
          .beta1 = static_cast<float>(s.beta1),
          .beta2 = static_cast<float>(s.beta2),
          .beta1_rest = static_cast<float>(1 - s.beta1),
          .beta2_rest = static_cast<float>(1 - s.beta2),
          .step = static_cast<float>(s.lr / (1 - std::pow(s.beta1, step))),
          .root = static_cast<float>(std::sqrt(1 - std::pow(s.beta2, step))),
          .eps = static_cast<float>(s.eps)};
}

inline SgdScalars sgd_scalars(const KernelScalars& s) {
  return {.weight_decay = static_cast<float>(s.weight_decay), .lr = static_cast<float>(s.lr)};
}

// Both, for a device whose kernels read them from its memory.
struct OptimizerScalars {
  AdamwScalars adamw;
  SgdScalars sgd;
};

inline OptimizerScalars optimizer_scalars(const KernelScalars& s) {
  return {adamw_scalars(s), sgd_scalars(s)};
}

}  // namespace foreshard::executor
