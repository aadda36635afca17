// How much of a step other steps have shown. A run whose throughput is known is evidence of what it spent its
// time on; another plan has that in common with it as far as its step goes into the same kernels, in the
// same types, over the same links, from as many nodes. The common part of a step b and the steps a of
// observed runs is
//
//   e = sum over kernels k of the largest of  0.9^|log2(nodes_a / nodes_b)| min(share_a(k), share_b(k))
//
// the intersection of two histograms (Swain and Ballard, Color Indexing, International Journal of Computer
// Vision 7, 1991), which is a covariance (Barla, Odone and Verri, Histogram intersection kernel for image
// classification, ICIP 2003), and so what a Gaussian process of whole steps is made of: where by the
// factors on rates alone observations take the variance L from a step's logarithm, one that has e in common
// with them loses e^2 L, and has e of the factors' logarithms. That a doubling of nodes leaves nine tenths in
// common is assumed.
#pragma once

#include <cstdint>
#include <vector>

#include "simulator/costs/device_rates.hpp"
#include "simulator/predict/step_band.hpp"

namespace foreshard::simulator {

// Of a step that pays `counts` times each of the costs, by the shares that each limit decides of it.
Exercise exercise_of(const RankProgram& program, const ProgramCosts& costs,
                     const std::vector<std::int64_t>& counts, const RateVector& shares, int nodes);

// e; 1 where of none of the observed steps it is known what they exercised.
double exercised_share(const Exercise& step, const std::vector<ObservedStep>& observed);

// Gives a step's uncertainty back what the observed runs did not exercise: the rest of L, and as much of the
// way from the observed runs' quantile to the catalogue's.
void add_unexercised(const Exercise& step, const DeviceRates& rates, StepUncertainty& uncertainty);

}  // namespace foreshard::simulator
