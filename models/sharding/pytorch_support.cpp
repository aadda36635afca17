#include "models/sharding/pytorch_support.hpp"

#include "models/plan/plan_words.hpp"
#include "models/sharding/accelerate.hpp"
#include "models/sharding/implementation.hpp"

namespace foreshard {

namespace {

// What torch.autocast is described with.
Result<void> check_autocast(const Plan& plan, const std::string& file) {
  if (plan.pytorch.autocast == Autocast::none) return {};
  const auto refuse = [&](bool is_set, const std::string& other,
                          const std::string& expected) -> Result<void> {
    if (!is_set) return {};
    return fail(file, "pytorch.autocast",
                "is \"bf16\" with " + other +
                    ", which is not described yet; expected \"none\", or " + expected);
  };
  const std::string operators = "operators \"" + std::string(word(plan.operators)) + '"';
  if (auto ok = refuse(plan.operators != OperatorSetName::pytorch_eager, operators,
                       "operators \"pytorch-eager\"");
      !ok) {
    return ok;
  }
  if (auto ok = refuse(plan.pytorch.loss != LossKind::whole,
                       "a pytorch.loss that is chunked or compiled", "pytorch.loss = \"whole\"");
      !ok) {
    return ok;
  }
  return refuse(plan.pytorch.float8 != Float8Scaling::none, "pytorch.float8",
                "pytorch.float8 = \"none\"");
}

// What the Trainer's loop, and evaluations, are described with.
Result<void> check_loop(const Plan& plan, const std::string& file) {
  const auto refuse = [&](bool is_set, const char* field, const std::string& value,
                          const std::string& other, const std::string& expected) -> Result<void> {
    if (!is_set) return {};
    return fail(
        file, field,
        "is " + value + " with " + other + ", which is not described; expected " + expected);
  };
  const bool is_eager = plan.operators == OperatorSetName::pytorch_eager;
  const bool is_whole = plan.pytorch.loss == LossKind::whole;
  const bool is_trainer = runs_in_trainer(plan), evaluates = plan.evaluation.every > 0;
  const std::string operators = "operators \"" + std::string(word(plan.operators)) + '"';
  const std::string every = std::to_string(plan.evaluation.every);
  const char* const other_loss = "a pytorch.loss that is chunked or compiled";
  for (const auto& ok :
       {refuse(evaluates && !is_eager, "evaluation.every", every, operators,
               "0, or operators \"pytorch-eager\""),
        refuse(evaluates && !is_whole, "evaluation.every", every, other_loss,
               "0, or pytorch.loss = \"whole\""),
        refuse(is_trainer && !is_eager, "pytorch.loop", "\"trainer\"", operators,
               "\"plain\", or operators \"pytorch-eager\""),
        refuse(is_trainer && !implementation_of(plan).loss_in_model, "pytorch.loop", "\"trainer\"",
               "a model that computes no loss",
               "\"plain\", or pytorch.implementation \"transformers\""),
        refuse(is_trainer && !is_whole, "pytorch.loop", "\"trainer\"", other_loss,
               "\"plain\", or pytorch.loss = \"whole\""),
        refuse(is_trainer && plan.offload.parameters, "pytorch.loop", "\"trainer\"",
               "offload.parameters", "\"plain\", or offload.parameters = false")}) {
    if (!ok) return tl::unexpected(ok.error());
  }
  return {};
}

// What reentrant checkpointing is described with.
Result<void> check_reentrant(const Plan& plan, const std::string& file) {
  if (!checkpoints_reentrantly(plan)) return {};
  const auto refuse = [&](bool is_set, const std::string& other,
                          const std::string& expected) -> Result<void> {
    if (!is_set) return {};
    return fail(file, "checkpointing.use_reentrant",
                "is true with " + other + "; expected false, or " + expected);
  };
  constexpr int kNoReshardInBackward = 10;  // of FSDP2, in the recomputation
  const int minor = nearest_described(plan.pytorch.version).minor;
  const bool is_fsdp1 = plan.runtime == RuntimeName::fsdp1;
  if (auto ok = refuse(is_fsdp1 && plan.wrap.policy != WrapPolicy::transformer,
                       "wrap.policy \"" + std::string(word(plan.wrap.policy)) +
                           "\", under which PyTorch's FSDP1 fails in the recomputation",
                       "\"transformer\"");
      !ok) {
    return ok;
  }
  return refuse(plan.runtime == RuntimeName::fsdp2 && minor < kNoReshardInBackward,
                "PyTorch " + to_string(plan.pytorch.version) + ", which is not described",
                "2.10 or later");
}

}  // namespace

DType compute_type(const Plan& plan) {
  return plan.pytorch.autocast == Autocast::none ? plan.precision.param : DType::bf16;
}

ModelSetup model_setup(const Plan& plan) {
  if (plan.pytorch.setup != ModelSetup::automatic) return plan.pytorch.setup;
  switch (plan.runtime) {
    case RuntimeName::fsdp2: break;
    case RuntimeName::fsdp1: return ModelSetup::host;
    case RuntimeName::ddp: return ModelSetup::device;
  }
  return ModelSetup::meta;
}

bool checkpoints_reentrantly(const Plan& plan) {
  return plan.checkpointing.use_reentrant && plan.operators == OperatorSetName::pytorch_eager &&
         plan.checkpointing.mode == CheckpointMode::transformers;
}

bool recomputes_with_hooks(const Plan& plan) {
  return checkpoints_reentrantly(plan) && plan.runtime == RuntimeName::fsdp2;
}

Result<void> check_pytorch_support(const Plan& plan, const std::string& file) {
  if (auto ok = check_autocast(plan, file); !ok) return ok;
  if (auto ok = check_reentrant(plan, file); !ok) return ok;
  if (!describes_pytorch(plan.operators)) return {};
  if (auto ok = check_loop(plan, file); !ok) return ok;
  const std::string operators = '"' + std::string(word(plan.operators)) + '"';
  const auto refuse = [&](bool is_set, const char* field, const std::string& value,
                          const std::string& expected) -> Result<void> {
    if (!is_set) return {};
    return fail(file, field,
                "is " + value + ", which operators " + operators +
                    " do not describe yet; expected " + expected);
  };
  const PyTorchPlan& pytorch = plan.pytorch;
  const bool loss_in_model = implementation_of(plan).loss_in_model;
  if (auto ok = refuse(pytorch.loss == LossKind::chunked && loss_in_model, "pytorch.loss",
                       "\"chunked\" with pytorch.implementation \"transformers\"",
                       "\"whole\" or \"compiled\", or implementation \"torchtitan\"");
      !ok) {
    return ok;
  }
  const OptimizerPlan& optimizer = plan.optimizer;
  if (optimizer.name == OptimizerName::sgd && optimizer.kernel == OptimizerKernel::fused &&
      plan.runtime == RuntimeName::fsdp2) {
    return fail(file, "optimizer.kernel",
                "is \"fused\", with which PyTorch's SGD raises under FSDP2, whose tensors have no "
                "_fused_sgd_; expected \"foreach\" or \"loop\"");
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
                    " is not described; the result is that of " + to_string(described) +
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
  if (checkpoints_reentrantly(plan) && plan.runtime == RuntimeName::fsdp1) {
    found.push_back(
        "checkpointing.use_reentrant: under FSDP1 gradients of a unit are put together when its "
        "backward ends; PyTorch does so some operators earlier in some steps");
  }
  const PrecisionPlan& precision = plan.precision;
  const bool has_states =
      plan.optimizer.name == OptimizerName::adamw || plan.optimizer.momentum > 0;
  if (has_states && precision.optimizer_state != precision.storage) {
    found.push_back("precision.optimizer_state = \"" +
                    std::string(name(precision.optimizer_state)) +
                    "\" has no effect here: torch.optim makes its states in the type of the "
                    "parameters, precision.storage = \"" +
                    std::string(name(precision.storage)) + "\"");
  }
  if (plan.pytorch.deterministic) {
    found.push_back(
        "pytorch.deterministic = true: kernels that fill new tensors are not counted "
        "(torch.utils.deterministic.fill_uninitialized_memory)");
  }
  if (plan.pytorch.read_loss_every != 1) {
    found.push_back("pytorch.read_loss_every = " + std::to_string(plan.pytorch.read_loss_every) +
                    ": the result is that of a host that reads the loss in every step");
  }
  return found;
}

}  // namespace foreshard
