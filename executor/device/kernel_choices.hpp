// What decides which kernels a GPU computes with, beside what they compute.
#pragma once

#include "executor/device/matmul_precision.hpp"
#include "models/base/device_traits.hpp"

namespace foreshard::executor {

struct KernelChoices {
  DeviceTraits traits{};  // those that programs are lowered for: attention by cuDNN, determinism
  MatmulPrecision matmul_precision = MatmulPrecision::highest;
  // The first kernels of cuBLASLt's list are timed for each product, and the quickest is taken.
  bool tunes_products = false;
};

}  // namespace foreshard::executor
