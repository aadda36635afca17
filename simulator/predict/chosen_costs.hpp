// Which costs a prediction rests on, by what its options name and what the job describes.
#pragma once

#include <memory>
#include <string>

#include "simulator/predict/prediction.hpp"

namespace foreshard::simulator {

struct ChosenCosts {
  std::unique_ptr<CostModel> model;
  bool limits_memory = true;  // whether the model's device is the one to fit on
  std::string assumption;     // what a reader must be told, or nothing
};

// For programs from anywhere.
ChosenCosts chosen_costs(int ranks, int nodes, const PredictionOptions& options);
// For a job. What describes PyTorch runs on accelerators alone: where none is named, an H100 SXM
// answers, whose memory is no limit then.
ChosenCosts chosen_costs(const Job& job, const PredictionOptions& options);

}  // namespace foreshard::simulator
