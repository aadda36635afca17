#include "models/sharding/pytorch_support.hpp"

#include "models/plan/plan_words.hpp"

namespace foreshard {

Result<void> check_pytorch_support(const Plan& plan, const std::string& file) {
  if (plan.operators == OperatorSetName::foreshard) return {};
  const std::string operators = '"' + std::string(word(plan.operators)) + '"';
  const auto refuse = [&](bool is_set, const char* field, const std::string& value,
                          const std::string& expected) -> Result<void> {
    if (!is_set) return {};
    return fail(file, field,
                "is " + value + ", which operators " + operators +
                    " do not describe yet; expected " + expected);
  };
  const auto quoted = [](std::string_view text) { return '"' + std::string(text) + '"'; };
  const PyTorchPlan& pytorch = plan.pytorch;
  const bool is_transformers = pytorch.implementation == Implementation::transformers;
  if (auto ok = refuse(pytorch.loss == LossKind::chunked && is_transformers, "pytorch.loss",
                       "\"chunked\" with pytorch.implementation \"transformers\"",
                       "\"whole\" or \"compiled\", or implementation \"torchtitan\"");
      !ok) {
    return ok;
  }
  const bool is_eager = plan.operators == OperatorSetName::pytorch_eager;
  if (auto ok = refuse(pytorch.float8 != Float8Scaling::none && is_eager, "pytorch.float8",
                       quoted(word(pytorch.float8)), "\"none\", or operators \"pytorch-compile\"");
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
  if (plan.operators == OperatorSetName::foreshard) return found;
  const PyTorchVersion version = plan.pytorch.version, described = nearest_described(version);
  if (described != version) {
    found.push_back("pytorch.version: PyTorch " + to_string(version) +
                    " is not described; the answer is that of " + to_string(described) +
                    ", the nearest version that is");
  }
  if (plan.pytorch.deterministic) {
    found.push_back(
        "pytorch.deterministic = true: memory is that of the default kernels; deterministic ones "
        "are "
        "not described yet");
  }
  if (plan.pytorch.read_loss_every != 1) {
    found.push_back("pytorch.read_loss_every = " + std::to_string(plan.pytorch.read_loss_every) +
                    ": the answer is that of a host that reads the loss in every step");
  }
  return found;
}

}  // namespace foreshard
