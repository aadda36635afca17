#include "simulator/device/stragglers.hpp"

#include <cmath>

namespace foreshard::simulator {
namespace {

double normal_share_below(double z) {
  return std::erfc(-z / std::sqrt(2.0)) / 2;
}

double normal_quantile(double probability) {
  double low = -40, high = 40;
  for (int i = 0; i < 60; ++i) {
    const double middle = (low + high) / 2;
    (normal_share_below(middle) < probability ? low : high) = middle;
  }
  return (low + high) / 2;
}

}  // namespace

SlowestRank slowest_of(int ranks, double sigma, double sigma_error) {
  if (ranks < 2 || sigma <= 0) return {};
  // The trapezoidal rule, which is exact to many digits for what falls off like this on both sides.
  constexpr double kFrom = -6, kTo = 9, kStep = 0.2;
  const double n = ranks;
  double weight = 0, mean = 0, square = 0, factor = 0;
  for (double z = kFrom; z < kTo; z += kStep) {
    const double density = std::exp(-z * z / 2 + (n - 1) * std::log(normal_share_below(z)));
    weight += density;
    mean += density * z;
    square += density * z * z;
    factor += density * std::exp(sigma * z);
  }
  mean /= weight;
  const double spread = std::sqrt(square / weight - mean * mean);
  return {factor / weight, sigma * std::hypot(spread, mean * sigma_error)};
}

double slowest_quantile(int ranks, double sigma, double probability) {
  return std::exp(sigma * normal_quantile(std::pow(probability, 1.0 / ranks)));
}

}  // namespace foreshard::simulator
