// The uncertainty of a predicted step time, by component.
//
// What rests on one limit of a data sheet is wrong together, and so are other estimates of kernels
// that are the same code, as all matrix products are, or attention and its backward; all else is
// wrong independently. The errors are those of logarithms: a step that is predicted to take t takes
// between t exp(-w) and t exp(w) with 90 %.
#pragma once

#include <array>
#include <cstdint>
#include <utility>
#include <vector>

#include "models/base/units.hpp"
#include "models/program/step_program.hpp"
#include "simulator/costs/cost_model.hpp"

namespace foreshard::simulator {

constexpr auto kOperators = static_cast<std::size_t>(Operator::kCount);

struct StepUncertainty {
  RateVector rates{};  // shares of the step that rest on each limit
  // By the operator that stands for those of the same code: what share of the work it is, and the
  // standard deviation of the step through its own costs; of collectives, as far as the step waits for them.
  std::array<double, kOperators> work{}, operators{};
  double slowest_rank = 0;  // standard deviation of the step through how slow that one is
  double unexercised = 0;   // through what of it observed runs did not show (exercised.hpp)
  ErrorSpread left_out;     // by everything else
};

// When the step happened: its length and, of the rank whose costs are counted, the time in which it
// communicated and computed nothing.
struct StepSpan {
  std::int64_t step_ns = 0, exposed_communication_ns = 0;
};

// Of a step that pays `counts` times each of the costs. A limit's share is the time of the kernels
// that it decides; of the link's and the network's, what they keep waiting. The rest of the step is what
// copies over the host link and the host's own work take, and after these what the host's launches are
// late by.
StepUncertainty uncertainty_of_step(const RankProgram& program, const ProgramCosts& costs,
                                    const std::vector<std::int64_t>& counts, const CostModel& model,
                                    const StepSpan& span);

// Of the logarithm of the step's time. `factors`: those of the model that the uncertainty is of, or of
// one that knows more; nullptr: nothing rests on them.
double variance(const StepUncertainty& uncertainty, const RateFactors* factors);

// The w of the head: 90 % lie within exp(-w) and exp(w) of the prediction.
double half_width(const StepUncertainty& uncertainty, const RateFactors* factors);

// The times between which 90 % lie.
std::pair<Nanoseconds, Nanoseconds> band_around(Nanoseconds step, double half_width);

// Operators of the same code have the same.
Operator family_of(Operator op);

}  // namespace foreshard::simulator
