#include "simulator/predict/model_flops.hpp"

namespace foreshard::simulator {

double model_flops_per_token(const LlamaConfig& model, std::int64_t sequence) {
  // A tied table is looked up and multiplied by, and is one parameter: it stays.
  const std::int64_t looked_up = model.tied_embeddings ? 0 : model.vocabulary * model.hidden;
  const auto multiplied = static_cast<double>(model.parameters() - looked_up);
  const auto scores = static_cast<double>(model.layers * model.heads * model.head_dim * sequence);
  return 6 * multiplied + 12 * scores;
}

}  // namespace foreshard::simulator
