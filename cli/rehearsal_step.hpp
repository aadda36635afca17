// The step that a rehearsal captured, as a program, and what the simulator makes of it on a machine.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/rehearsal_answer.hpp"
#include "models/base/error.hpp"
#include "models/hardware/hardware.hpp"
#include "simulator/predict/prediction.hpp"

namespace foreshard::cli {

struct RehearsedStep {
  simulator::Prediction prediction;  // without a time where something has no price
  std::vector<std::string> unpriced;
  std::vector<std::string> notes;
};

// `folder`: what the hooks captured. All ranks are taken to run the program of the one that was rehearsed.
Result<RehearsedStep> rehearsed_step(const std::string& folder, const RehearsalQuestion& question,
                                     const Machine& machine);

}  // namespace foreshard::cli
