#include "models/sharding/compiled_blocks.hpp"

#include <algorithm>

#include "models/sharding/implementation.hpp"
#include "models/sharding/layer_attention.hpp"

namespace foreshard {
namespace {

constexpr const char* kOtherwise = ", or operators \"pytorch-eager\"";

bool is_inside_block(const Job& job, const Unit& unit) {
  return std::any_of(unit.modules.begin(), unit.modules.end(), [&](ModuleId id) {
    const Module& module = job.tree.modules[static_cast<std::size_t>(id)];
    return module.layer >= 0 && module.kind != ModuleKind::decoder_layer;
  });
}

}  // namespace

Result<void> check_compiled_blocks(const Job& job, const std::string& plan_file) {
  const Plan& plan = job.plan;
  if (plan.operators != OperatorSetName::pytorch_compile) return {};
  const auto refuse = [&](const char* field, const std::string& problem,
                          const std::string& expected) -> Result<void> {
    return fail(plan_file, field,
                problem + ", which operators \"pytorch-compile\" do not describe yet; expected " +
                    expected + kOtherwise);
  };
  if (implementation_of(plan).has_inner_model) {
    return refuse("pytorch.implementation", "is \"transformers\"", "\"torchtitan\"");
  }
  if (job.model.has_query_key_norms()) {
    return refuse("operators", "runs a model that normalizes queries and keys", "another model");
  }
  const ChosenAttention attention = layer_attention(job, false).chosen;
  if (attention.kernel == AttentionKernel::math) {
    return refuse("pytorch.attention", "takes the math path (" + attention.reason + ")",
                  "another one, precision.param \"bf16\" or pytorch.repeat_kv = true");
  }
  if (std::any_of(job.units.begin(), job.units.end(),
                  [&](const Unit& unit) { return is_inside_block(job, unit); })) {
    return refuse("wrap", "makes units inside blocks", "blocks, or several of them, as units");
  }
  return {};
}

}  // namespace foreshard
