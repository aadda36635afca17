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

// `programs`: of the ranks that were rehearsed. All other ranks run that of the first, or of their own stage where
// the rehearsed ones are the stages of a `pipeline`, whose ranks these are. Where ranks would wait for each other
// forever, all are taken to run the first.
RehearsedStep rehearsed_step(std::vector<std::pair<int, RankProgram>> programs,
                             const std::vector<int>& pipeline, const RehearsalQuestion& question,
                             const Machine& machine);

}  // namespace foreshard::cli
