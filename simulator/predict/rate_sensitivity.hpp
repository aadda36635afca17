// How a step's time depends on the limits of its machine, by simulating it with each of them moved
// a little: what an observation of that time says about them.
#pragma once

#include "models/hardware/hardware.hpp"
#include "models/sharding/job.hpp"
#include "simulator/costs/device_rates.hpp"

namespace foreshard::simulator {

struct RateSensitivity {
  double log_ns = 0;      // logarithm of the step's nanoseconds; not finite: there is no time
  RateVector gradient{};  // of that, with the logarithms of the factors
  Exercise exercise;      // what the step spends its time on
};

// On `machine` with these factors.
RateSensitivity rate_sensitivity(const Job& job, const Machine& machine,
                                 const RateFactors& factors);

// The first member alone.
double log_step_time(const Job& job, const Machine& machine, const RateFactors& factors);

}  // namespace foreshard::simulator
