#include "simulator/device/device_model.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "simulator/device/matrix_product.hpp"

namespace foreshard::simulator {
namespace {

constexpr double kNorm = 4;  // of the two times
constexpr double kClockOfPower = 0.45;

double joined(double a, double b) {
  return std::pow(std::pow(a, kNorm) + std::pow(b, kNorm), 1 / kNorm);
}

bool is_aligned(std::int64_t elements, DType type) {
  return elements * static_cast<std::int64_t>(item_size(type)) % 16 == 0;
}

// The products of a key; of an input gradient dims are T K N. Tokens are rows of what is stored, and so
// their number aligns nothing: of a weight gradient, which sums over them, rows are as long as N and K.
ProductShape shape_of(const CostKey& key) {
  const auto d = [&](std::size_t i) { return static_cast<double>(key.dims[i]); };
  const auto stored = [&](std::size_t a, std::size_t b) {
    return is_aligned(key.dims[a], key.dtype) && is_aligned(key.dims[b], key.dtype);
  };
  if (key.op == Operator::batched_matmul) return {d(1), d(2), d(3), d(0), stored(2, 3)};
  const bool is_gradient_of_weight = key.op == Operator::matmul_weight_gradient;
  return {d(0), d(1), d(2), 1, is_gradient_of_weight ? stored(0, 1) : stored(1, 2)};
}

double clock_under(double watts, double rated, double idle_share) {
  if (watts <= 0 || rated <= 0 || watts >= rated) return 1;
  const double idle = idle_share * rated;
  return std::pow(std::max(0.05, (watts - idle) / (rated - idle)), kClockOfPower);
}

// Of the peak. A clock that is locked below what the power limit leaves draws less power than that.
double sustained_share(const Machine& machine, const KernelRates& rates) {
  const double under_power =
      rates.under_load.value *
      clock_under(machine.watts, rates.rated_watts.value, rates.idle_power.value);
  return rates.best_product.value * std::min(machine.clock_share(), under_power);
}

// As memory_kernels.csv has it.
std::string_view kernel_name(const CostKey& key, std::string_view name) {
  const auto [from, to] = key.op == Operator::memory_bound
                              ? std::pair(key.dims[0], key.dims[1])
                              : std::pair(static_cast<std::int64_t>(item_size(key.dtype2)),
                                          static_cast<std::int64_t>(item_size(key.dtype)));
  const bool may_widen = key.op == Operator::memory_bound || key.op == Operator::cast;
  if (may_widen && from > 0 && to == 2 * from) return "widening";
  return name.empty() ? foreshard::name(key.op) : name;
}

}  // namespace

DeviceModel::DeviceModel(const Machine& machine, const RateFactors* factors)
    : machine_(machine),
      rates_(kernel_rates(machine)),
      factors_(factors != nullptr ? *factors : prior_factors(rates_)),
      bytes_per_ns_(machine.memory_bandwidth / 1e9 *
                    std::min(1.0, rates_.memory.value / factors_.factor(Rate::memory))),
      sustained_share_(std::min(std::max(1.0, rates_.best_product.value),
                                sustained_share(machine, rates_) / factors_.factor(Rate::product))),
      multiprocessors_(static_cast<double>(machine.multiprocessors)) {}

double DeviceModel::sustained_product_flops(DType type) const {
  double peak = machine_.peak_flops(type);
  if (type == DType::fp8) peak = machine_.fp8_flops;
  if (type == DType::fp32 || peak <= 0) {
    return machine_.fp32_flops * machine_.clock_share() *
           std::min(1.0, rates_.fp32_product.value / factors_.factor(Rate::product));
  }
  const double share =
      type == DType::fp8
          ? rates_.fp8_scaling.value * rates_.best_fp8_product.value / rates_.best_product.value
          : 1;
  return peak * sustained_share_ * share;
}

// Short sequences leave little work to each block of queries, and heads below 128 use less of the
// matrix units for each exponential: exponents as fitted to 45 shapes on an H100.
double DeviceModel::attention_flops(const CostKey& key, std::string_view name) const {
  const bool is_backward =
      key.op == Operator::attention_backward || key.op == Operator::attention_full_backward;
  const bool is_flash = name.find("flash") != std::string_view::npos;
  const bool is_efficient = name.find("efficient") != std::string_view::npos;
  const auto of_kernels = [&](const KernelRate& flash, const KernelRate& efficient,
                              const KernelRate& cudnn) {
    return (is_flash ? flash : is_efficient ? efficient : cudnn).value;
  };
  const KernelRates& r = rates_;
  const double share = is_backward
                           ? of_kernels(r.flash_backward, r.efficient_backward, r.cudnn_backward)
                           : of_kernels(r.flash_forward, r.efficient_forward, r.cudnn_forward);
  const double limit =
      is_backward
          ? of_kernels(r.flash_backward_limit, r.efficient_backward_limit, r.cudnn_backward_limit)
          : of_kernels(r.flash_forward_limit, r.efficient_forward_limit, r.cudnn_forward_limit);
  const double half_rate =
      (is_backward ? r.half_rate_tokens_backward : r.half_rate_tokens_forward).value;
  const auto sequence = static_cast<double>(key.dims[1]);
  const double heads =
      std::min(1.0, std::pow(static_cast<double>(key.dims[4]) / 128, is_flash ? 0.2 : 0.5));
  const double most = limit > 0 ? limit * 1e12 * multiprocessors_ : INFINITY;
  const auto reached = [&](double peak) {
    const double long_sequences =
        std::min(peak, std::min(peak * share, most) / factors_.factor(Rate::attention));
    return machine_.clock_share() * long_sequences * heads * sequence / (sequence + half_rate);
  };
  // Memory-efficient kernels make an fp32 product of three in TF32; what they do besides products is done
  // with twice the bytes.
  const double half_peak = machine_.peak_flops(DType::bf16);
  if (is_efficient && key.dtype == DType::fp32 && machine_.tf32_flops > 0 && half_peak > 0) {
    const double besides = 1 / reached(half_peak) - 1 / half_peak;
    return 1 / (3 / machine_.tf32_flops + 2 * besides);
  }
  return reached(machine_.peak_flops(key.dtype));
}

double DeviceModel::kernel_ns(const CostKey& key, std::string_view name) const {
  const double memory = bytes_moved(key) / bytes_per_ns_;
  const double start = 1000 * rates_.kernel_us.value;
  switch (rate_of(key.op)) {
    case Rate::product: {
      const ProductMachine machine{sustained_product_flops(key.dtype) / 1e9, multiprocessors_,
                                   rates_.tile_rows.value, rates_.tile_columns.value};
      return start + joined(product_ns(shape_of(key), machine), memory);
    }
    case Rate::attention:
      return start + joined(1e9 * flops(key) / attention_flops(key, name), memory);
    default: return start + memory_ns(memory_kernel(kernel_name(key, name)), bytes_moved(key));
  }
}

double DeviceModel::memory_ns(const MemoryKernel& kernel, double bytes) const {
  const double streamed = bytes / bytes_per_ns_ / kernel.share;
  if (kernel.bytes_per_ns <= 0) return streamed;
  const double own = bytes / (kernel.bytes_per_ns * multiprocessors_ * machine_.clock_share());
  return joined(streamed, own * factors_.factor(Rate::memory));
}

}  // namespace foreshard::simulator
