#include "models/lowering/operators/pytorch/pytorch_operators.hpp"

#include <algorithm>

#include "models/base/assertion.hpp"
#include "models/lowering/operators/pytorch/compiled_block.hpp"
#include "models/lowering/operators/pytorch/eager_block.hpp"
#include "models/lowering/operators/pytorch/eager_chunked_loss.hpp"
#include "models/lowering/operators/pytorch/eager_embedding.hpp"
#include "models/lowering/operators/pytorch/eager_head.hpp"
#include "models/lowering/operators/pytorch/eager_loss.hpp"
#include "models/sharding/implementation.hpp"
#include "models/sharding/layer_attention.hpp"
#include "models/sharding/trained_parameters.hpp"

namespace foreshard::lowering {
namespace {

ModuleId block_module(const Job& job, std::size_t layer) {
  return job.tree.find("model.layers." + std::to_string(layer));
}

// Whether autograd records how a block turns its queries and keys, and whether it records anything.
struct Recorded {
  bool is_turned = true, is_any = true;
};

Recorded describe_training(const Job& job, const std::vector<bool>& has_gradients, ModuleId block,
                           BlockSite& site) {
  if (job.tree.trains_whole) return {};
  site.input_requires_gradient = input_has_gradient(job, has_gradients, block);
  Recorded found{site.input_requires_gradient, site.input_requires_gradient};
  const ParameterId embedding = job.tree.modules[static_cast<std::size_t>(
                                                     job.tree.find("model.embed_tokens"))]
                                    .parameters.front();
  site.input_is_leaf = site.is_first && site.input_requires_gradient &&
                       !has_gradients[static_cast<std::size_t>(embedding)];
  const std::int32_t layer = job.tree.modules[static_cast<std::size_t>(block)].layer;
  for (std::size_t p = 0; p < has_gradients.size(); ++p) {
    const Module& owner = job.tree.modules[static_cast<std::size_t>(job.tree.parameters[p].module)];
    if (owner.layer != layer) continue;
    site.trains.push_back(has_gradients[p]);
    if (!has_gradients[p]) continue;
    found.is_any = true;
    const std::string path = owner.path + '.';  // an adapter's factors run with its linear layer
    const auto is = [&](std::string_view name) { return path.find(name) != std::string::npos; };
    found.is_turned |= is(".q_proj.") || is(".k_proj.") || is(".q_norm.") || is(".k_norm.") ||
                       is(".input_layernorm.");
  }
  return found;
}

// By layer.
std::vector<BlockSite> block_sites(const Job& job, GradMode grad) {
  std::vector<BlockSite> sites(static_cast<std::size_t>(job.model.layers));
  sites.front().is_first = true;
  const std::vector<bool> gradients = has_gradients(job);
  const std::vector<DecoderMask> masks = decoder_masks(job);
  bool is_any_again = false, is_any_turned = false;
  std::vector<bool> is_any_again_masked(masks.size(), false);
  for (std::size_t i = 0; i < sites.size(); ++i) {
    BlockSite& site = sites[i];
    const ModuleId block = job.tree.trains_whole ? kNone : block_module(job, i);
    const Recorded recorded = describe_training(job, gradients, block, site);
    // Without gradients checkpoint() calls the block and no more.
    site.is_checkpointed = grad == GradMode::enabled && is_checkpointed(job, i);
    const bool is_again = site.is_checkpointed && recorded.is_any;
    site.is_first_checkpointed = is_again && !is_any_again;
    is_any_again |= is_again;
    if (const auto mask = mask_of_layer(job, i)) {
      site.mask = masks[*mask].has_window ? Shared::window_mask : Shared::mask;
      site.is_first_checkpointed_masked = is_again && !is_any_again_masked[*mask];
      if (is_again) is_any_again_masked[*mask] = true;
    }
    const bool is_turned = is_again || recorded.is_turned;
    site.is_first_turned = is_turned && !is_any_turned;
    is_any_turned |= is_turned;
  }
  if (job.plan.runtime != RuntimeName::fsdp2) return sites;
  for (const Unit& unit : job.units) {
    for (const ModuleId m : unit.modules) {
      const Module& module = job.tree.modules[static_cast<std::size_t>(m)];
      if (module.layer == kNone) continue;
      BlockSite& site = sites[static_cast<std::size_t>(module.layer)];
      if (module.kind == ModuleKind::decoder_layer) {
        site.is_unit = true;
      } else {
        const std::string block = "model.layers." + std::to_string(module.layer) + '.';
        site.units.push_back(module.path.substr(block.size()));
      }
    }
  }
  return sites;
}

}  // namespace

OperatorSet pytorch_operators(const Job& job, GradMode grad) {
  OperatorSet set;
  set.embedding = eager_embedding(job, grad);
  const bool is_chunked = job.plan.pytorch.loss == LossKind::chunked;
  set.head = is_chunked ? eager_chunked_head(job) : eager_head(job, grad);
  set.loss = is_chunked ? eager_chunked_loss(job) : eager_loss(job, grad);
  set.loss_in_model = is_chunked || implementation_of(job.plan).loss_in_model;
  std::vector<BlockSite> kinds;
  for (const BlockSite& site : block_sites(job, grad)) {
    const auto found = std::find(kinds.begin(), kinds.end(), site);
    set.block_kind.push_back(narrow<std::int32_t>(found - kinds.begin()));
    if (found != kinds.end()) continue;
    kinds.push_back(site);
    const bool is_compiled = job.plan.operators == OperatorSetName::pytorch_compile;
    set.blocks.push_back(
        is_compiled ? compiled_block(job, site)
                    : eager_block(job, site, grad, block_module(job, set.block_kind.size() - 1)));
  }
  return set;
}

}  // namespace foreshard::lowering
