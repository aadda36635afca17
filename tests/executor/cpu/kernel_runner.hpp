// Runs one kernel as the interpreter would: tensors in, tensors out. The same tests are for every
// device: each test program links the runner of its own, cpu_kernel_runner.cpp here or
// tests/cuda/cuda_kernel_runner.cpp.
#pragma once

#include <cmath>
#include <cstring>
#include <functional>
#include <memory>
#include <ostream>
#include <random>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "executor/cpu/simd/bfloat16.hpp"
#include "executor/device/kernel_launch.hpp"
#include "models/base/device_traits.hpp"

namespace foreshard::executor {

using Values = std::vector<double>;

struct Tensor {
  DType type = DType::fp32;
  std::vector<std::byte> bytes;

  static Tensor zeros(DType type, std::int64_t n) {
    return {type, std::vector<std::byte>(static_cast<std::size_t>(n * item_size(type)))};
  }
  static Tensor of(DType type, const Values& values) {
    Tensor t = zeros(type, static_cast<std::int64_t>(values.size()));
    for (std::size_t i = 0; i < values.size(); ++i) t.set(i, values[i]);
    return t;
  }
  // Filled with NaNs, so that what a kernel leaves unwritten shows.
  static Tensor unwritten(DType type, std::int64_t n) {
    Tensor t = zeros(type, n);
    if (n > 0) std::memset(t.bytes.data(), 0xff, t.bytes.size());
    return t;
  }

  std::size_t size() const { return bytes.size() / static_cast<std::size_t>(item_size(type)); }

  void set(std::size_t i, double value) {
    const auto put = [&](const auto x) { std::memcpy(bytes.data() + i * sizeof x, &x, sizeof x); };
    switch (type) {
      case DType::bf16: return put(to_bfloat16(static_cast<float>(value)));
      case DType::fp64: return put(value);
      case DType::int32: return put(static_cast<std::int32_t>(value));
      case DType::fp32: return put(static_cast<float>(value));
      case DType::fp16:
      case DType::fp8: break;
    }
    throw std::invalid_argument("no kernel takes this type");
  }
  double at(std::size_t i) const {
    const auto take = [&](auto x) {
      std::memcpy(&x, bytes.data() + i * sizeof x, sizeof x);
      return x;
    };
    switch (type) {
      case DType::bf16: return static_cast<double>(to_float(take(BFloat16{})));
      case DType::fp64: return take(0.0);
      case DType::int32: return take(std::int32_t{});
      case DType::fp32: return static_cast<double>(take(0.0F));
      case DType::fp16:
      case DType::fp8: break;
    }
    throw std::invalid_argument("no kernel takes this type");
  }
  Values values() const {
    Values out(size());
    for (std::size_t i = 0; i < out.size(); ++i) out[i] = at(i);
    return out;
  }
};

struct Launch {
  CostKey key;
  std::vector<Tensor> reads, writes;
  std::int32_t aux = 0;
  UnitLayout unit{};
  KernelScalars scalars{};
};

// What the launch leaves in its writes. `threads`: how many share the work on a CPU; on CUDA, any
// number but 1 reverses the order in which a block's threads run.
std::vector<Tensor> run(const Launch& launch, int threads = 1);

// The device under test.
DeviceTraits tested_device();

// Whether a library multiplies, some of whose kernels round a product to its type before they add the bias: where both
// nearly cancel, the error is that of the product, not of the sum. PyTorch's addmm has it too.
bool products_may_round_before_bias();

// One of the ways in which a device computes its kernels, such as an instruction set. use(): from
// now on, for as long as what it returns lives.
struct KernelVariant {
  std::string name;
  std::function<std::shared_ptr<const void>()> use;

  friend void PrintTo(const KernelVariant& variant, std::ostream* out) { *out << variant.name; }
};
std::vector<KernelVariant> kernel_variants();

// Values that fp32 holds exactly: references start from what the kernels really see.
inline Values random_values(std::int64_t n, unsigned seed, double scale = 1.0) {
  std::mt19937_64 generator(seed);
  std::normal_distribution<double> normal(0.0, scale);
  Values out(static_cast<std::size_t>(n));
  for (double& x : out) x = static_cast<double>(static_cast<float>(normal(generator)));
  return out;
}

inline Values rounded(DType type, const Values& values) {
  return Tensor::of(type, values).values();
}

// Largest |a - b| relative to the largest |b| of the same row; a NaN is infinitely wrong. Rows of
// one element compare each with its own magnitude.
inline double row_error(const Values& a, const Values& b, std::size_t width) {
  double worst = 0;
  for (std::size_t row = 0; row < b.size(); row += width) {
    double largest = 0, scale = 1e-30;
    for (std::size_t i = row; i < row + width; ++i) {
      const double error = std::abs(a[i] - b[i]);
      if (std::isnan(error)) return HUGE_VAL;
      largest = std::max(largest, error);
      scale = std::max(scale, std::abs(b[i]));
    }
    worst = std::max(worst, largest / scale);
  }
  return worst;
}

// The same over all values as one row.
inline double relative_error(const Values& a, const Values& b) {
  return b.empty() ? 0 : row_error(a, b, b.size());
}

// d(sum of f(x) * weights) / dx by central differences.
inline Values finite_differences(const std::function<Values(const Values&)>& f, Values x,
                                 const Values& weights) {
  constexpr double kStep = 1e-5;
  const auto objective = [&] {
    const Values y = f(x);
    double total = 0;
    for (std::size_t i = 0; i < y.size(); ++i) total += y[i] * weights[i];
    return total;
  };
  Values gradient(x.size());
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double at = x[i];
    x[i] = at + kStep;
    const double above = objective();
    x[i] = at - kStep;
    const double below = objective();
    x[i] = at;
    gradient[i] = (above - below) / (2 * kStep);
  }
  return gradient;
}

}  // namespace foreshard::executor
