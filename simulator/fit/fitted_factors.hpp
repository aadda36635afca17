// Factors on a machine's rates, fitted to observed runs.
//
// Each run says of the logarithm of its step's time, relative to the catalogue's:
//
//   y = g (r + c) + h + e
//
// r  each limit's own factor, normal, with the catalogue's spread
// c  a factor that all limits have in common: what a whole step is off by on this machine, be it its
//    clocks, its hosts or its software. Student's, three degrees of freedom, as wide as the catalogue's
//    predictions turned out to be off by beyond their rates (held_out_errors.hpp): one run far from the
//    prediction is believed rather than explained away. It is normal given its variance, which is found by
//    expectation and maximisation (Lange, Little and Taylor, Robust Statistical Modeling Using the t
//    Distribution, JASA 84, 1989); it never falls below what it was
// h  an error that the runs of one fit have in common, for one hand made them
// e  the run's own error
//
// A generation of which no step was compared with its prediction has its `unverified` spread beside:
// half of the variance in common, half of it each limit's own.
#pragma once

#include <vector>

#include "models/hardware/kernel_rates.hpp"
#include "simulator/costs/device_rates.hpp"

namespace foreshard::simulator {

// Standard deviations of h and e. Published figures of one configuration differ by 2 to 9 %, and by a
// simulation of it; together they are 3.5 %. The errors of step_errors.csv whose settings are known
// differ by 1.2 % within one source and by 6.6 % between sources, part of which is their machines'. So
// most is taken to be the hand's.
constexpr double kHandDeviation = 0.029, kOwnDeviation = 0.020;

// One question: what its step's time says of the factors (ObservedStep).
struct RateObservation {
  RateVector gradient{};
  double log_ratio = 0;
};

// Of each question one, whose figures are averaged: run again, it has the same error of the simulation.
std::vector<RateObservation> observations_of(const std::vector<ObservedStep>& steps);

RateFactors fitted_factors(const KernelRates& rates,
                           const std::vector<RateObservation>& observations);

}  // namespace foreshard::simulator
