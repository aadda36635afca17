#include "models/sharding/pytorch_support.hpp"

#include "models/plan/plan_words.hpp"

namespace foreshard {

Result<void> check_pytorch_support(const Plan& plan, const std::string& file) {
  if (!describes_pytorch(plan.operators)) return {};
  const std::string operators = '"' + std::string(word(plan.operators)) + '"';
  const auto refuse = [&](bool is_set, const char* field, const std::string& value,
                          const std::string& expected) -> Result<void> {
    if (!is_set) return {};
    return fail(file, field,
                "is " + value + ", which operators " + operators +
                    " do not describe yet; expected " + expected);
  };
  const PyTorchPlan& pytorch = plan.pytorch;
  const bool is_transformers = pytorch.implementation == Implementation::transformers;
  if (auto ok = refuse(pytorch.loss == LossKind::chunked && is_transformers, "pytorch.loss",
                       "\"chunked\" with pytorch.implementation \"transformers\"",
                       "\"whole\" or \"compiled\", or implementation \"torchtitan\"");
      !ok) {
    return ok;
  }
  if (auto ok = refuse(plan.offload.activations, "offload.activations", "true", "false"); !ok) {
    return ok;
  }
  return refuse(plan.offload.optimizer && !plan.offload.parameters, "offload.optimizer",
                "true without offload.parameters", "offload.parameters = true, or false");
}

std::vector<std::string> pytorch_approximations(const Plan& plan) {
  std::vector<std::string> found;
  if (!describes_pytorch(plan.operators)) return found;
  const PyTorchVersion version = plan.pytorch.version, described = nearest_described(version);
  if (described != version) {
    found.push_back("pytorch.version: PyTorch " + to_string(version) +
                    " is not described; the answer is that of " + to_string(described) +
                    ", the nearest version that is");
  }
  if (plan.pytorch.float8 != Float8Scaling::none &&
      plan.operators == OperatorSetName::pytorch_eager) {
    found.push_back(
        "pytorch.float8: what eager float8 keeps for backward is not described; memory is that of "
        "the compute type and of the casts while they run");
  }
  if (plan.operators == OperatorSetName::pytorch_compile &&
      plan.pytorch.compile == CompileScope::model) {
    found.push_back(
        "pytorch.compile = \"model\": embedding, final norm and head are answered as they run "
        "uncompiled");
  }
  if (plan.pytorch.deterministic) {
    found.push_back(
        "pytorch.deterministic = true: kernels that fill new tensors are not counted "
        "(torch.utils.deterministic.fill_uninitialized_memory)");
  }
  if (plan.pytorch.read_loss_every != 1) {
    found.push_back("pytorch.read_loss_every = " + std::to_string(plan.pytorch.read_loss_every) +
                    ": the answer is that of a host that reads the loss in every step");
  }
  return found;
}

}  // namespace foreshard
