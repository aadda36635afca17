#include "models/sharding/trained_parameters.hpp"

#include <algorithm>
#include <utility>

#include "models/llama/adapters.hpp"
#include "models/plan/plan_words.hpp"
#include "models/sharding/pytorch_support.hpp"
#include "models/sharding/units.hpp"

namespace foreshard {
namespace {

bool names(const std::string& glob, const ModuleTree& tree, const Parameter& parameter) {
  if (glob_matches(glob, parameter.name)) return true;
  for (ModuleId m = parameter.module; m != kNone;
       m = tree.modules[static_cast<std::size_t>(m)].parent) {
    if (m != 0 && glob_matches(glob, tree.modules[static_cast<std::size_t>(m)].path)) return true;
  }
  return false;
}

// When a module runs: its layer, and its place in a block.
std::pair<std::int32_t, int> order_of(const ModuleTree& tree, const Module& module) {
  constexpr int kBlock = 0, kAttention = 1, kOutput = 3, kSecondNorm = 4, kMlp = 5, kDown = 6;
  const std::string path = module.path + '.';  // an adapter's factors run with its linear layer
  const auto is_at = [&](const std::string& name) { return path.find(name + '.') != path.npos; };
  const std::int32_t last =
      tree.modules.back().layer + static_cast<std::int32_t>(tree.modules.size());
  if (module.kind == ModuleKind::embedding) return {-1, 0};
  if (module.layer == kNone) return {last, module.path == "lm_head" ? 1 : 0};
  if (is_at("_norm")) return {module.layer, kAttention + 1};
  if (is_at(".post_attention_layernorm")) return {module.layer, kSecondNorm};
  if (is_at(".o_proj")) return {module.layer, kOutput};
  if (is_at(".down_proj")) return {module.layer, kDown};
  if (module.path.find(".self_attn") != std::string::npos) return {module.layer, kAttention};
  if (module.path.find(".mlp") != std::string::npos) return {module.layer, kMlp};
  return {module.layer, kBlock};
}

}  // namespace

namespace {

// The tree with the plan's adapters.
Result<ModuleTree> adapted(ModuleTree tree, const Plan& plan, const std::string& file) {
  if (plan.lora.rank == 0) return tree;
  const auto refuse = [&](bool is_set, const std::string& with,
                          const std::string& expected) -> Result<void> {
    if (!is_set) return {};
    return fail(file, "lora.rank",
                "is " + std::to_string(plan.lora.rank) + " with " + with +
                    ", which is not described; expected 0, or " + expected);
  };
  const PyTorchPlan& pytorch = plan.pytorch;
  for (const auto& ok :
       {refuse(plan.operators != OperatorSetName::pytorch_eager,
               "operators \"" + std::string(word(plan.operators)) + '"',
               "operators \"pytorch-eager\""),
        refuse(pytorch.implementation != ImplementationName::transformers,
               "a pytorch.implementation that PEFT does not adapt",
               "pytorch.implementation = \"transformers\""),
        refuse(pytorch.loss != LossKind::whole, "a pytorch.loss that is compiled",
               "pytorch.loss = \"whole\""),
        refuse(pytorch.float8 != Float8Scaling::none, "pytorch.float8",
               "pytorch.float8 = \"none\""),
        refuse(
            has_wide_adapters(plan) && plan.runtime == RuntimeName::fsdp1,
            "lora.dtype \"fp32\" over another type under FSDP1, which flattens tensors of one type "
            "only (\"Must flatten tensors with uniform dtype\")",
            "lora.dtype = \"storage\""),
        refuse(has_wide_adapters(plan) && plan.precision.param != plan.precision.storage,
               "lora.dtype \"fp32\" and a precision.param that is not precision.storage",
               "the same type in both"),
        refuse(compute_type(plan) != plan.precision.param, "pytorch.autocast over weights in fp32",
               "pytorch.autocast = \"none\""),
        refuse(plan.checkpointing.mode == CheckpointMode::selective,
               "checkpointing.mode \"selective\"", "another mode")}) {
    if (!ok) return tl::unexpected(ok.error());
  }
  std::vector<std::string> linears;
  for (const Module& module : tree.modules) {
    if (module.kind != ModuleKind::linear || module.layer > 0 || module.layer == kNone) continue;
    linears.push_back(module.path.substr(module.path.rfind('.') + 1));
  }
  const auto& targets = plan.lora.targets;
  if (targets.empty()) {
    return fail(file, "lora.targets",
                "is empty; expected names of linear layers such as \"q_proj\"");
  }
  for (const std::string& target : targets) {
    if (std::find(linears.begin(), linears.end(), target) != linears.end()) continue;
    const std::string near = nearest(target, linears);
    return fail(file, "lora.targets",
                "names '" + target +
                    "', which is no linear layer of a block; expected names such as "
                    "\"q_proj\"" +
                    (near.empty() ? "" : "; did you mean '" + near + "'"));
  }
  return with_adapters(tree, targets, plan.lora.rank);
}

}  // namespace

Result<ModuleTree> as_trained(ModuleTree whole, const Plan& plan, const std::string& file) {
  auto with = adapted(std::move(whole), plan, file);
  if (!with || plan.frozen.empty()) return with;
  const ModuleTree& tree = *with;
  if (plan.operators != OperatorSetName::pytorch_eager) {
    return fail(file, "frozen",
                "freezes parameters, which operators \"" + std::string(word(plan.operators)) +
                    "\" do not describe; expected [], or operators \"pytorch-eager\"");
  }
  if (plan.pytorch.loss != LossKind::whole) {
    return fail(file, "frozen",
                "freezes parameters under a pytorch.loss that is chunked or compiled, which is not "
                "described yet; expected [], or pytorch.loss = \"whole\"");
  }
  std::vector<Parameter> parameters(tree.parameters.begin(), tree.parameters.end());
  for (const std::string& glob : plan.frozen) {
    bool any = false;
    for (Parameter& parameter : parameters) {
      if (!names(glob, tree, parameter)) continue;
      parameter.trains = false;
      any = true;
    }
    // A tied head's weight is the embedding's.
    const ModuleId head = tree.find("lm_head");
    if (!any && head != kNone && glob_matches(glob, "lm_head")) {
      for (const ParameterId id : tree.modules[static_cast<std::size_t>(head)].parameters) {
        parameters[static_cast<std::size_t>(id)].trains = false;
      }
      any = true;
    }
    if (any) continue;
    std::vector<std::string> paths;
    for (const Module& module : tree.modules) paths.push_back(module.path);
    const std::string near = nearest(glob, paths);
    return fail(file, "frozen",
                "'" + glob +
                    "' matches no module; expected a glob of Hugging Face names such as "
                    "'model.layers.*.mlp'" +
                    (near.empty() ? "" : "; did you mean '" + near + "'"));
  }
  if (std::none_of(parameters.begin(), parameters.end(),
                   [](const Parameter& p) { return p.trains; })) {
    return fail(file, "frozen", "leaves nothing that trains; expected fewer globs");
  }
  return ModuleTree(std::vector<Module>(tree.modules.begin(), tree.modules.end()),
                    std::move(parameters));
}

Result<void> check_frozen_units(const Job& job, const std::string& file) {
  if (job.tree.trains_whole || job.plan.runtime != RuntimeName::fsdp1 ||
      job.plan.pytorch.use_orig_params) {
    return {};
  }
  const auto trains = [&](ParameterId p) {
    return job.tree.parameters[static_cast<std::size_t>(p)].trains;
  };
  for (const Unit& unit : job.units) {
    const auto first = std::find_if(unit.parameters.begin(), unit.parameters.end(), trains);
    if (first == unit.parameters.end() ||
        std::all_of(unit.parameters.begin(), unit.parameters.end(), trains)) {
      continue;
    }
    return fail(file, "pytorch.use_orig_params",
                "is false, but unit '" + unit.name +
                    "' has parameters that train and others that are frozen, for which FSDP raises "
                    "(\"Must flatten tensors with uniform `requires_grad`\"); expected true");
  }
  return {};
}

DType trained_storage(const Plan& plan) {
  const bool is_wide = plan.lora.rank > 0 && plan.lora.dtype == AdapterDType::fp32;
  return is_wide ? DType::fp32 : plan.precision.storage;
}

DType storage_of(const Plan& plan, const Parameter& parameter) {
  return parameter.trains ? trained_storage(plan) : plan.precision.storage;
}

bool has_wide_adapters(const Plan& plan) {
  return trained_storage(plan) != plan.precision.storage;
}

std::vector<bool> has_gradients(const Job& job) {
  std::vector<bool> found;
  for (const Parameter& p : job.tree.parameters) found.push_back(p.trains);
  if (job.plan.runtime != RuntimeName::fsdp1 || job.tree.trains_whole) return found;
  for (const Unit& unit : job.units) {
    const bool any = std::any_of(unit.parameters.begin(), unit.parameters.end(),
                                 [&](ParameterId p) { return found[static_cast<std::size_t>(p)]; });
    for (const ParameterId p : unit.parameters) found[static_cast<std::size_t>(p)] = any;
  }
  return found;
}

bool embedded_requires_gradient(const Plan& plan) {
  return describes_pytorch(plan.operators) &&
         plan.checkpointing.mode == CheckpointMode::transformers;
}

bool input_has_gradient(const Job& job, const std::vector<bool>& has_gradients, ModuleId module) {
  switch (job.tree.modules[static_cast<std::size_t>(module)].kind) {
    case ModuleKind::root:
    case ModuleKind::model:
    case ModuleKind::embedding:
    case ModuleKind::rotary: return false;
    default: break;
  }
  return embedded_requires_gradient(job.plan) ||
         input_has_gradient(job.tree, has_gradients, module);
}

bool input_has_gradient(const ModuleTree& tree, const std::vector<bool>& has_gradients,
                        ModuleId module) {
  const Module& called = tree.modules[static_cast<std::size_t>(module)];
  switch (called.kind) {
    case ModuleKind::root:
    case ModuleKind::model:
    case ModuleKind::embedding:
    case ModuleKind::rotary: return false;
    default: break;
  }
  if (tree.trains_whole) return true;
  const auto order = order_of(tree, called);
  for (std::size_t p = 0; p < has_gradients.size(); ++p) {
    const Module& owner = tree.modules[static_cast<std::size_t>(tree.parameters[p].module)];
    if (has_gradients[p] && order_of(tree, owner) < order) return true;
  }
  return false;
}

bool output_has_gradient(const Job& job, const std::vector<bool>& has_gradients, ModuleId module) {
  const Module& called = job.tree.modules[static_cast<std::size_t>(module)];
  const auto trains = [&](ParameterId p) { return has_gradients[static_cast<std::size_t>(p)]; };
  const auto child_has_gradient = [&](ModuleId child) {
    return output_has_gradient(job, has_gradients, child);
  };
  if (called.kind == ModuleKind::rotary) return false;
  return (called.kind == ModuleKind::embedding && embedded_requires_gradient(job.plan)) ||
         std::any_of(called.parameters.begin(), called.parameters.end(), trains) ||
         input_has_gradient(job, has_gradients, module) ||
         std::any_of(called.children.begin(), called.children.end(), child_has_gradient);
}

}  // namespace foreshard
