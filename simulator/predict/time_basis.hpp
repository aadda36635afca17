// What the predicted time of a step rests on: its operators, each with the source of its costs, the
// measurement nearest to it and its uncertainty; and the components of the band.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "simulator/predict/step_band.hpp"

namespace foreshard::simulator {

// The work of one rank in the step that has one name and one kind of source.
struct OperatorBasis {
  std::string name;
  CostSource source = CostSource::unknown;
  std::int64_t count = 0;
  std::int64_t ns = 0;   // alone, summed
  double deviation = 0;  // standard deviation of its logarithm, weighted by time
  std::string basis;     // of the costs that take longest: CostModel::basis
};

// The variances of all add up to that of the step's logarithm.
struct UncertaintyComponent {
  std::string name;      // of a limit, or of an operator; "(left out)"
  double share = 0;      // of the step; of the operators' own, of the work
  double deviation = 0;  // standard deviation of what that is, alone
  double variance = 0;   // what it adds; less than nothing where it makes up for another limit
  std::string basis;
};

// The measurement that would narrow the band most (recommended_measurement.hpp).
struct RecommendedMeasurement {
  std::string measurement;
  double half_width = 0;  // afterwards
};

struct TimeBasis {
  std::vector<OperatorBasis> operators;               // longest first
  std::vector<UncertaintyComponent> components;       // largest first
  double half_width = 0;                              // of the logarithm, at 90 %
  double quantile = 0;                                // that in standard deviations
  std::optional<RecommendedMeasurement> recommended;  // where it was looked for
};

TimeBasis time_basis(const RankProgram& program, const ProgramCosts& costs, std::int64_t step,
                     const CostModel& model, const StepUncertainty& uncertainty);

}  // namespace foreshard::simulator
