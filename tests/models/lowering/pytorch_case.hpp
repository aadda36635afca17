// A training run of PyTorch as the recordings of its allocator describe it: flat words for the model's
// implementation, the wrapping, the precision and so on, one JSON object a run. They are read as a
// model, a plan and ranks.
#pragma once

#include <nlohmann/json.hpp>

#include "models/llama/llama_config.hpp"
#include "models/plan/plan.hpp"

namespace foreshard::tests {

struct PyTorchCase {
  LlamaConfig model;
  Plan plan;
  int ranks = 1, rank = 0;
  int steps = 3;
};

// `words` may leave out what has its default, and names the PyTorch `version`, "2.11" without one;
// `config`: as Hugging Face's config.json has it, before what the words change.
PyTorchCase pytorch_case(const nlohmann::json& words, const nlohmann::json& config);

}  // namespace foreshard::tests
