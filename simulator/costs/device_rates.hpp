// What a cost file holds of runs of which only the time of a step is known: the factors on a machine's
// rates, and the runs they rest on.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "simulator/device/rate_factors.hpp"

namespace foreshard::simulator {

struct ObservedStep {
  std::string plan;  // the file
  std::string model;
  int ranks = 1;
  std::int64_t measured_ns = 0;
  std::int64_t catalogue_ns = 0;  // as the catalogue's rates have it
  std::int64_t fitted_ns = 0;     // with the factors

  double over_fitted() const {
    return static_cast<double>(measured_ns) / static_cast<double>(fitted_ns);
  }
};

struct DeviceRates {
  std::string machine;  // id in the catalogue
  RateFactors factors;
  std::vector<ObservedStep> observed;
};

}  // namespace foreshard::simulator
