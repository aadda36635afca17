#include "simulator/predict/model_flops.hpp"

#include "models/sharding/trained_parameters.hpp"

namespace foreshard::simulator {

double model_flops_per_token(const LlamaConfig& model, std::int64_t sequence) {
  // A tied table is looked up and multiplied by, and is one parameter: it stays.
  const std::int64_t looked_up = model.tied_embeddings ? 0 : model.vocabulary * model.hidden;
  const auto multiplied = static_cast<double>(model.parameters() - looked_up);
  const auto scores = static_cast<double>(model.layers * model.heads * model.head_dim * sequence);
  return 6 * multiplied + 12 * scores;
}

double model_flops_per_token(const Job& job) {
  const LlamaConfig& model = job.model;
  double flops = model_flops_per_token(model, job.plan.batch.sequence);
  if (job.tree.trains_whole) return flops;
  std::vector<bool> trains;
  for (const Parameter& p : job.tree.parameters) trains.push_back(p.trains);
  for (const Parameter& p : job.tree.parameters) {
    const Module& owner = job.tree.modules[static_cast<std::size_t>(p.module)];
    if (owner.kind == ModuleKind::embedding && !model.tied_embeddings) continue;
    const auto products = static_cast<double>(2 * p.numel());
    if (!p.trains) flops -= products;
    if (owner.kind != ModuleKind::embedding && !input_has_gradient(job, trains, p.module)) {
      flops -= products;
    }
  }
  const auto scores = static_cast<double>(model.heads * model.head_dim * job.plan.batch.sequence);
  for (std::size_t m = 0; m < job.tree.modules.size(); ++m) {
    const bool is_output = job.tree.modules[m].path.ends_with(".o_proj");
    if (is_output && !input_has_gradient(job, trains, static_cast<ModuleId>(m))) {
      flops -= 8 * scores;
    }
  }
  return flops;
}

}  // namespace foreshard::simulator
