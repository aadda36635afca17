// How a step's time depends on the limits of its machine, by simulating it with each of them moved
// a little: what an observation of that time says about them.
#pragma once

#include "models/hardware/hardware.hpp"
#include "models/sharding/job.hpp"
#include "simulator/device/rate_factors.hpp"

namespace foreshard::simulator {

// What runs of one configuration on one kind of machine differ by, and the simulation of one that
// was observed: standard deviation of the logarithm. Published figures of one configuration differ
// by 2 to 9 %.
constexpr double kObservedDeviation = 0.035;

struct RateSensitivity {
  double log_ns = 0;      // logarithm of the step's nanoseconds; not finite: there is no time
  RateVector gradient{};  // of that, with the logarithms of the factors
};

// On `machine` with these factors.
RateSensitivity rate_sensitivity(const Job& job, const Machine& machine,
                                 const RateFactors& factors);

// The first member alone.
double log_step_time(const Job& job, const Machine& machine, const RateFactors& factors);

}  // namespace foreshard::simulator
