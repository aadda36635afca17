// How a step's time depends on the limits of its machine, by simulating it with each of them moved
// a little: what an observation of that time says about them.
#pragma once

#include "models/hardware/hardware.hpp"
#include "models/sharding/job.hpp"
#include "simulator/costs/device_rates.hpp"

namespace foreshard::simulator {

struct SimulatedStep {
  double log_ns = 0;  // logarithm of the step's nanoseconds; not finite: there is no time
  Exercise exercise;  // what the step spends its time on
};

struct RateSensitivity : SimulatedStep {
  RateVector gradient{};  // of log_ns, with the logarithms of the factors
};

// On `machine` with these factors.
RateSensitivity rate_sensitivity(const Job& job, const Machine& machine,
                                 const RateFactors& factors);

// The step alone.
SimulatedStep simulated_step(const Job& job, const Machine& machine, const RateFactors& factors);

}  // namespace foreshard::simulator
