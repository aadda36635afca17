// How long a kernel takes on a part of the catalogue, when it has the part to itself.
//
// Every kernel obeys  time = start + ((arithmetic)^p + (bytes)^p)^(1/p),  p = 4: close to the larger of
// the two, a little above where both matter. What differs by kind is the rate of the arithmetic:
//
//   products    of sustained_product_flops(), tile by tile (matrix_product.hpp)
//   attention   a share of the peak by its kernels' family, less for short sequences and small heads
//   all else    none: the memory's bandwidth decides, or what the kernel has in flight
//
// A part has a sustained state beside its peak. A long run of large products ends at the power limit,
// not at the highest clock. Dynamic power is proportional to clock x voltage^2: it grows as the clock's
// cube where the voltage rises with it, and as the clock where the voltage is at its minimum. A part
// that is limited to P of the power P0 its generation is rated at is taken to keep
// ((P - idle) / (P0 - idle))^0.45 of the clock, between the two.
#pragma once

#include <string_view>

#include "models/hardware/hardware.hpp"
#include "models/hardware/kernel_rates.hpp"
#include "models/program/operators.hpp"
#include "simulator/device/rate_factors.hpp"

namespace foreshard::simulator {

class DeviceModel {
 public:
  // `factors`: fitted to runs; nullptr: the catalogue alone.
  explicit DeviceModel(const Machine& machine, const RateFactors* factors = nullptr);

  // Nanoseconds. `name` is the framework's name of the operator, which tells the kernels of attention
  // apart; "" for Foreshard's own, which are cuDNN's. Not for collectives and copies over the host link.
  double kernel_ns(const CostKey& key, std::string_view name = "") const;

  // Standard deviation of the logarithm of a kernel's time beyond that of its limit's rate.
  double kernel_error(const CostKey& key) const {
    return is_matmul(key.op) && key.dtype == DType::fp8 ? rates_.fp8_scaling.spread : 0;
  }

  const RateFactors& factors() const { return factors_; }

  // Operations per second of large products in a long run. fp16 as bf16; fp32 as the plan asked for,
  // without TF32.
  double sustained_product_flops(DType type) const;

  double memory_bytes_per_ns() const { return bytes_per_ns_; }
  double multiprocessors() const { return multiprocessors_; }

 private:
  double memory_ns(const MemoryKernel& kernel, double bytes) const;
  double attention_flops(const CostKey& key, std::string_view name) const;

  Machine machine_;
  KernelRates rates_;
  RateFactors factors_;
  double bytes_per_ns_;
  double sustained_share_;  // of the peak, of large products
  double multiprocessors_;
};

}  // namespace foreshard::simulator
