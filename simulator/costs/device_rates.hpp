// What a cost file holds of runs of which only the time of a step is known: the factors on a machine's
// rates, and the runs they rest on.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "simulator/device/rate_factors.hpp"

namespace foreshard::simulator {

// What a step spends its time on: kernels by what they share their code and their type with, transfers
// by what they go over, and the host (exercised.hpp).
struct KernelShare {
  std::string kernel;
  double share = 0;  // of the step
};
struct Exercise {
  int nodes = 0;
  std::vector<KernelShare> kernels;  // none: unknown
};

struct ObservedStep {
  std::string plan;  // the file
  std::string model;
  int ranks = 1;
  std::int64_t measured_ns = 0;
  std::int64_t catalogue_ns = 0;  // as the catalogue's rates have it
  std::int64_t fitted_ns = 0;     // with the factors
  // What was run, as JSON (models/question), which steps that were measured twice have in common; what it
  // said of the factors: log_ratio = gradient x logarithms, but for errors. Empty in files of earlier
  // versions.
  std::string question{};
  RateVector gradient{};
  double log_ratio = 0;  // measured over the time by factors of 1, made linear at the fitted ones
  Exercise exercise{};

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
