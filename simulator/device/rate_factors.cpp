#include "simulator/device/rate_factors.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace foreshard::simulator {
namespace {

// Of what has no line in the catalogue's rates: collectives against published measurements, and host
// times between processors.
constexpr double kLinksSpread = 0.20, kHostSpread = 0.40;

double dot(const RateVector& a, const RateVector& b) {
  return std::inner_product(a.begin(), a.end(), b.begin(), 0.0);
}

RateVector product(const std::array<RateVector, kRates>& matrix, const RateVector& vector) {
  RateVector result{};
  for (std::size_t i = 0; i < kRates; ++i) result[i] = dot(matrix[i], vector);
  return result;
}

}  // namespace

Rate rate_of(Operator op) {
  if (is_collective(op) || is_host_copy(op)) return Rate::links;
  if (is_matmul(op)) return Rate::product;
  return is_attention(op) ? Rate::attention : Rate::memory;
}

double RateFactors::factor(Rate rate) const {
  return std::exp(logarithm[static_cast<std::size_t>(rate)]);
}

double RateFactors::error(const RateVector& gradient) const {
  return std::sqrt(std::max(0.0, dot(gradient, product(covariance, gradient))));
}

// The Kalman filter's update: the mean and covariance of a normal distribution after one more linear
// observation with noise.
void RateFactors::observe(const RateVector& gradient, double y, double sigma) {
  const RateVector along = product(covariance, gradient);
  const double variance = dot(gradient, along) + sigma * sigma;
  const double surprise = y - dot(gradient, logarithm);
  for (std::size_t i = 0; i < kRates; ++i) {
    logarithm[i] += along[i] / variance * surprise;
    for (std::size_t j = 0; j < kRates; ++j) covariance[i][j] -= along[i] * along[j] / variance;
  }
}

RateFactors prior_factors(const KernelRates& rates) {
  const RateVector spreads{std::hypot(rates.best_product.spread, rates.under_load.spread),
                           std::max(rates.flash_forward.spread, rates.flash_backward.spread),
                           rates.memory.spread, kLinksSpread, kHostSpread};
  RateFactors factors;
  for (std::size_t i = 0; i < kRates; ++i) factors.covariance[i][i] = spreads[i] * spreads[i];
  return factors;
}

}  // namespace foreshard::simulator
