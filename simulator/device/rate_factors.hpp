// Factors on the rates of a GPU model, fitted to runs: how many times as long everything that one of its
// limits decides takes than by the catalogue's rates. Few observations cannot tell the limits
// apart; the covariance says what they leave open, and it is what the error of a prediction is made of.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "models/hardware/kernel_rates.hpp"
#include "models/program/operators.hpp"

namespace foreshard::simulator {

// The limits: of matrix products, attention's kernels, memory, the links inside of a node, the network
// between nodes, the copies to and from the host, and the host that launches.
enum class Rate : std::uint8_t { product, attention, memory, link, network, copy, host, kCount };
constexpr auto kRates = static_cast<std::size_t>(Rate::kCount);
constexpr std::array<std::string_view, kRates> kRateNames{"product", "attention", "memory", "link",
                                                          "network", "copy",      "host"};

Rate rate_of(Operator op);  // on a device; of collectives that stay inside of a node

using RateVector = std::array<double, kRates>;

struct RateFactors {
  RateVector logarithm{};                       // of the factors on times
  std::array<RateVector, kRates> covariance{};  // of the logarithms
  // Standard deviation of the logarithm of a step's time that observed runs show and no factors
  // explain.
  double unexplained = 0;
  // The part of the covariance before them that observed runs explain.
  std::array<RateVector, kRates> explained{};

  double factor(Rate rate) const;
  double deviation(Rate rate) const;  // standard deviation of that factor's logarithm
  // Standard deviation of the logarithm of a time that grows so with each of them.
  double error(const RateVector& gradient) const;
  // Covariance of each of the logarithms with that time's.
  RateVector along(const RateVector& gradient) const;
};

// Where the catalogue has its rates from, each source once.
std::string sources_of(const KernelRates& rates, Rate rate);

// Before anything is observed: the catalogue's spreads.
RateFactors prior_factors(const KernelRates& rates);

}  // namespace foreshard::simulator
