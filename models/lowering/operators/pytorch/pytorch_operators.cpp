#include "models/lowering/operators/pytorch/pytorch_operators.hpp"

#include <algorithm>

#include "models/base/assertion.hpp"
#include "models/lowering/operators/pytorch/compiled_block.hpp"
#include "models/lowering/operators/pytorch/eager_block.hpp"
#include "models/lowering/operators/pytorch/eager_chunked_loss.hpp"
#include "models/lowering/operators/pytorch/eager_embedding.hpp"
#include "models/lowering/operators/pytorch/eager_head.hpp"
#include "models/lowering/operators/pytorch/eager_loss.hpp"

namespace foreshard::lowering {
namespace {

// By layer.
std::vector<BlockSite> block_sites(const Job& job) {
  std::vector<BlockSite> sites(static_cast<std::size_t>(job.model.layers));
  sites.front().is_first = true;
  bool is_any_checkpointed = false;
  for (std::size_t i = 0; i < sites.size(); ++i) {
    sites[i].is_checkpointed = is_checkpointed(job, i);
    sites[i].is_first_checkpointed = sites[i].is_checkpointed && !is_any_checkpointed;
    is_any_checkpointed |= sites[i].is_checkpointed;
  }
  if (job.plan.runtime != RuntimeName::fsdp2) return sites;
  for (const Unit& unit : job.units) {
    for (const ModuleId m : unit.modules) {
      const Module& module = job.tree.modules[static_cast<std::size_t>(m)];
      if (module.kind == ModuleKind::decoder_layer) {
        sites[static_cast<std::size_t>(module.layer)].is_unit = true;
      }
    }
  }
  return sites;
}

}  // namespace

OperatorSet pytorch_operators(const Job& job) {
  OperatorSet set;
  set.embedding = eager_embedding(job);
  const bool is_chunked = job.plan.pytorch.loss == LossKind::chunked;
  set.head = is_chunked ? eager_chunked_head(job) : eager_head(job);
  set.loss = is_chunked ? eager_chunked_loss(job) : eager_loss(job);
  set.loss_in_model =
      is_chunked || job.plan.pytorch.implementation == Implementation::transformers;
  std::vector<BlockSite> kinds;
  for (const BlockSite& site : block_sites(job)) {
    const auto found = std::find(kinds.begin(), kinds.end(), site);
    set.block_kind.push_back(narrow<std::int32_t>(found - kinds.begin()));
    if (found != kinds.end()) continue;
    kinds.push_back(site);
    const bool is_compiled = job.plan.operators == OperatorSetName::pytorch_compile;
    set.blocks.push_back(is_compiled ? compiled_block(job, site) : eager_block(job, site));
  }
  return set;
}

}  // namespace foreshard::lowering
