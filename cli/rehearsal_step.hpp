// The step that rehearsed ranks captured, as programs, and what the simulator makes of them on a machine.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "models/hardware/hardware.hpp"
#include "models/program/step_program.hpp"
#include "simulator/predict/prediction.hpp"

namespace foreshard::cli {

struct RehearsalQuestion;

struct RehearsedStep {
  simulator::Prediction prediction;  // without a time where something has no price
  std::vector<std::string> unpriced;
  std::vector<std::string> notes;
};

// `programs`: of the ranks that were rehearsed, the first of which stands for all that were not. Where these
// do not issue the same collectives, as the stages of a pipeline do not, all are taken to run the first.
RehearsedStep rehearsed_step(std::vector<std::pair<int, RankProgram>> programs,
                             const RehearsalQuestion& question, const Machine& machine);

}  // namespace foreshard::cli
