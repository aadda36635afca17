// Learns from runs of which only the throughput is known: a published figure, or one's own log.
//
// A step's time says how far the machine's rates are off together, not each of them alone. Each question -
// a model, a plan, ranks, nodes and a machine - is one observation of the logarithm of its step's time,
// which is linearised by simulating the step with each factor a little larger, at the catalogue's factors
// first and then at what was found. The result is the most likely factors and what the runs leave open
// (fitted_factors.hpp). Far from the runs - a plan in which another limit decides - the answer goes back
// to the catalogue's and its band widens. What the runs then still differ by from the fit, because they
// contradict each other or what the machine can reach, widens the band of all that rests on them.
#pragma once

#include <string>
#include <vector>

#include "models/base/error.hpp"
#include "models/base/units.hpp"
#include "models/hardware/hardware.hpp"
#include "models/sharding/job.hpp"
#include "simulator/costs/device_rates.hpp"

namespace foreshard::simulator {

struct ObservedRun {
  std::string plan;  // for messages and the report
  Job job;
  Nanoseconds step_time{0};
};

// What tells a question from others, whatever its costs are.
std::string identity_of(Question question);

// `machine_id` is what load_machine takes. An error names the run that has no predicted time, or one
// whose time no rates of the machine come near: a fourth of, or four times, that with the most likely
// factors.
Result<DeviceRates> fit_observed(const std::vector<ObservedRun>& runs, const Machine& machine,
                                 const std::string& machine_id);

// That a step's time is not what the machine is known to take, and what may be wrong with the
// figure.
std::string contradiction(const ObservedStep& step, const std::string& machine_id);

// The runs with their times as the catalogue and the factors have them, and the factors with their
// standard deviations.
std::string observed_report(const DeviceRates& rates);

}  // namespace foreshard::simulator
