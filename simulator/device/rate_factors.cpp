#include "simulator/device/rate_factors.hpp"

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <numeric>

namespace foreshard::simulator {
namespace {

// Of what has no line in the catalogue's rates: collectives against published measurements, copies over
// the host link against its data sheet, and host times between processors.
constexpr double kTransferSpread = 0.20, kHostSpread = 0.40;

double dot(const RateVector& a, const RateVector& b) {
  return std::inner_product(a.begin(), a.end(), b.begin(), 0.0);
}

}  // namespace

Rate rate_of(Operator op) {
  if (is_collective(op)) return Rate::link;
  if (is_host_copy(op)) return Rate::copy;
  if (is_matmul(op)) return Rate::product;
  return is_attention(op) ? Rate::attention : Rate::memory;
}

double RateFactors::factor(Rate rate) const {
  return std::exp(logarithm[static_cast<std::size_t>(rate)]);
}

double RateFactors::deviation(Rate rate) const {
  const auto r = static_cast<std::size_t>(rate);
  return std::sqrt(covariance[r][r]);
}

RateVector RateFactors::along(const RateVector& gradient) const {
  RateVector result{};
  for (std::size_t i = 0; i < kRates; ++i) result[i] = dot(covariance[i], gradient);
  return result;
}

double RateFactors::error(const RateVector& gradient) const {
  return std::sqrt(std::max(0.0, dot(gradient, along(gradient))));
}

std::string sources_of(const KernelRates& rates, Rate rate) {
  const auto joined = [](std::initializer_list<KernelRate> of) {
    std::string text;
    for (const KernelRate& one : of) {
      if (one.value <= 0) continue;
      if (text.find(one.source) != std::string::npos) continue;
      text += (text.empty() ? "" : "; ") + std::string(one.source);
    }
    return text;
  };
  switch (rate) {
    case Rate::product: return joined({rates.best_product, rates.under_load});
    case Rate::attention:
      return joined({rates.flash_forward, rates.flash_forward_limit, rates.cudnn_forward});
    case Rate::memory: return joined({rates.memory});
    case Rate::host: return "PyTorch's steps recorded on a device that computes nothing";
    default: return "";
  }
}

RateFactors prior_factors(const KernelRates& rates) {
  const RateVector spreads{std::hypot(rates.best_product.spread, rates.under_load.spread),
                           std::max({rates.flash_forward.spread, rates.flash_backward.spread,
                                     rates.flash_forward_limit.spread}),
                           rates.memory.spread,
                           kTransferSpread,
                           kTransferSpread,
                           kTransferSpread,
                           kHostSpread};
  RateFactors factors;
  for (std::size_t i = 0; i < kRates; ++i) factors.covariance[i][i] = spreads[i] * spreads[i];
  return factors;
}

}  // namespace foreshard::simulator
