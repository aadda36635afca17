#include "models/sharding/job.hpp"

#include <algorithm>

#include "models/hardware/instances.hpp"
#include "models/plan/plan_keys.hpp"
#include "models/plan/plan_words.hpp"
#include "models/sharding/compiled_blocks.hpp"
#include "models/sharding/implementation.hpp"
#include "models/sharding/layer_attention.hpp"
#include "models/sharding/program_size.hpp"
#include "models/sharding/pytorch_device.hpp"
#include "models/sharding/pytorch_support.hpp"
#include "models/sharding/trained_parameters.hpp"
#include "models/sharding/unread_settings.hpp"
#include "models/sharding/xla_device.hpp"

namespace foreshard {
namespace {

bool is_hybrid(const Plan& plan) {
  return plan.sharding.strategy == Strategy::hybrid_shard ||
         plan.sharding.strategy == Strategy::hybrid_shard_zero2;
}

Result<void> check_groups(const Job& job, const std::string& file) {
  const ShardingPlan& sharding = job.plan.sharding;
  const std::string ranks = std::to_string(job.ranks) + " ranks";
  if (is_hybrid(job.plan)) {
    if (sharding.shard_group == 0 && job.nodes == 0) {
      return fail(
          file, "sharding.shard_group",
          "hybrid sharding needs the ranks of a shard group; expected a number that divides "
          "the ranks, or 0 together with --nodes");
    }
    if (sharding.shard_group == 0 && job.ranks % job.nodes != 0) {
      return fail(file, "sharding.shard_group",
                  std::to_string(job.nodes) + " nodes do not divide " + ranks +
                      "; expected --nodes that does");
    }
    if (sharding.shard_group != 0 && job.ranks % sharding.shard_group != 0) {
      return fail(file, "sharding.shard_group",
                  std::to_string(sharding.shard_group) + " does not divide " + ranks +
                      "; expected a divisor");
    }
  }
  const ReshardAfterForward& reshard = sharding.reshard_after_forward;
  const int shard_ranks = shard_group_size(job);
  if (reshard.kind == ReshardAfterForward::Kind::group && shard_ranks % reshard.group != 0) {
    return fail(file, "sharding.reshard_after_forward",
                std::to_string(reshard.group) + " does not divide the shard group of " +
                    std::to_string(shard_ranks) +
                    " ranks; expected a divisor, true, false or \"auto\"");
  }
  return {};
}

// Where FSDP1 shards nothing, its steps differ by turns, as those between evaluations do besides.
Result<void> check_evaluation(const Job& job, const std::string& file) {
  const EvaluationPlan& evaluation = job.plan.evaluation;
  const bool is_whole = job.plan.runtime == RuntimeName::fsdp1 && shard_group_size(job) == 1;
  if (evaluation.every == 0 || !is_whole) return {};
  return fail(
      file, "evaluation.every",
      "is " + std::to_string(evaluation.every) +
          " under FSDP1 that shards nothing, which is not described; expected 0, or a shard "
          "group of several ranks");
}

Result<void> check_globs(const Job& job, const std::vector<std::string>& globs,
                         const std::string& file, const std::string& field) {
  for (const std::string& glob : globs) {
    const bool any = std::any_of(job.tree.modules.begin(), job.tree.modules.end(),
                                 [&](const Module& m) { return glob_matches(glob, m.path); });
    if (!any) {
      return fail(file, field,
                  "'" + glob + "' matches no module; expected a glob of Hugging Face names");
    }
  }
  return {};
}

// Whether one of a unit's modules is named.
bool is_named(const Job& job, UnitId unit, const std::vector<std::string>& globs) {
  const auto& modules = job.units[static_cast<std::size_t>(unit)].modules;
  return std::any_of(modules.begin(), modules.end(), [&](ModuleId m) {
    return std::any_of(globs.begin(), globs.end(), [&](const std::string& glob) {
      return glob_matches(glob, job.tree.modules[static_cast<std::size_t>(m)].path);
    });
  });
}

// FSDP decides by unit; modules inside a unit do not count.
void warn_of_globs_without_unit(Job& job, const std::vector<std::string>& globs,
                                const std::string& field) {
  for (const std::string& glob : globs) {
    bool any = false;
    for (std::size_t u = 0; u < job.units.size(); ++u) {
      any |= is_named(job, static_cast<UnitId>(u), {glob});
    }
    if (!any) {
      job.warnings.push_back(field + ": '" + glob +
                             "' has no effect: it matches no module that is an FSDP unit");
    }
  }
}

// Backward needs every parameter but the embedding's, unless that is the head's as well.
Result<void> check_sharded_units(const Job& job, const std::string& file) {
  const ParameterId embedding = 0;
  for (std::size_t u = 0; u < job.units.size(); ++u) {
    const UnitId unit = static_cast<UnitId>(u);
    const auto& parameters = job.units[u].parameters;
    const bool is_needed =
        job.model.tied_embeddings || std::any_of(parameters.begin(), parameters.end(),
                                                 [&](ParameterId p) { return p != embedding; });
    const bool is_gathered_again = after_forward(job, unit) != AfterForward::keep;
    if (is_needed && is_gathered_again && stays_sharded_in_backward(job, unit)) {
      return fail(file, "pytorch.keep_sharded_in_backward",
                  "names unit '" + job.units[u].name +
                      "', whose parameters backward needs; expected 'model.embed_tokens' where "
                      "that is a unit of its own and not tied");
    }
  }
  return {};
}

// Trees have Llama's class names for every family.
Plan with_llama_classes(Plan plan, const LlamaConfig& model) {
  for (std::string& name : plan.wrap.layer_class) name = llama_class(model.family, name);
  return plan;
}

// Whether operators "foreshard" compute the rotary embeddings; in memory all types are alike.
bool is_computed(const RopeScaling& scaling) {
  using Kind = RopeScaling::Kind;
  return scaling.kind == Kind::none || scaling.kind == Kind::linear || scaling.kind == Kind::llama3;
}

// That the operators compute all that the model has.
Result<void> check_model(const LlamaConfig& model, const Plan& plan, const std::string& file) {
  const OperatorSetName operators = plan.operators;
  const auto refused = [&](const std::string& missing, const std::string& expected) {
    return fail(file, "operators",
                '"' + std::string(word(operators)) + "\" have no " + missing + ", which model '" +
                    model.name + "' has; expected " + expected);
  };
  const bool is_ours = !describes_pytorch(operators);
  if (!is_ours && model.has_query_key_norms() && !implementation_of(plan).has_query_key_norms) {
    return fail(file, "pytorch.implementation",
                "torchtitan's blocks have no norms of queries and keys, which model '" +
                    model.name + "' has; expected \"transformers\"");
  }
  if (model.has_query_key_norms() && compute_type(plan) != plan.precision.param) {
    return fail(file, "pytorch.autocast",
                "is \"bf16\" over fp32 norms of queries and keys, which model '" + model.name +
                    "' has and which is not described yet; expected \"none\"");
  }
  if (is_ours && model.has_query_key_norms()) {
    return refused("norms of queries and keys", "\"pytorch-eager\", or a model without");
  }
  if (is_ours && !is_computed(model.rope_scaling)) {
    return refused("rotary embeddings of type " + std::string(model.rope_scaling.type()),
                   "\"pytorch-eager\"");
  }
  return {};
}

// That a model without storage is given some as one whole.
Result<void> check_setup(const LlamaConfig& model, const Plan& plan, const std::string& file) {
  if (plan.pytorch.setup != ModelSetup::meta || !describes_pytorch(plan.operators)) return {};
  if (plan.runtime == RuntimeName::ddp) {
    return fail(
        file, "pytorch.setup",
        "is \"meta\", but DDP takes only parameters that have storage; expected \"host\" or "
        "\"device\"");
  }
  if (plan.runtime == RuntimeName::fsdp1 && model.tied_embeddings) {
    return fail(
        file, "pytorch.setup",
        "is \"meta\", but FSDP1's param_init_fn, module by module, would untie embedding and "
        "head of model '" +
            model.name + "'; expected \"host\", \"device\", or a model that is not tied");
  }
  return {};
}

// FSDP1 and DDP are described only as PyTorch's operators run under them.
Result<void> check_runtime(const Plan& plan, const std::string& file) {
  if (plan.runtime == RuntimeName::fsdp2) return {};
  const std::string runtime(plan.runtime == RuntimeName::fsdp1 ? "\"fsdp1\"" : "\"ddp\"");
  if (!describes_pytorch(plan.operators)) {
    return fail(file, "runtime",
                "is " + runtime + ", but operators \"" + std::string(word(plan.operators)) +
                    "\" have only \"fsdp2\"; expected \"fsdp2\", or operators "
                    "\"pytorch-eager\"");
  }
  const auto unsupported = [&](bool is_set, const std::string& field) -> Result<void> {
    if (!is_set) return {};
    return fail(file, field,
                "is true, but runtime " + runtime +
                    " does not have it; expected "
                    "false, or runtime \"fsdp2\"");
  };
  const bool is_ddp = plan.runtime == RuntimeName::ddp;
  if (is_ddp && plan.precision.param != plan.precision.storage) {
    return fail(file, "precision.param",
                "is \"" + std::string(name(plan.precision.param)) +
                    "\", but DDP computes in the type of its parameters; expected that of "
                    "precision.storage, \"" +
                    std::string(name(plan.precision.storage)) +
                    "\" (mixed precision under DDP is pytorch.autocast = \"bf16\" besides)");
  }
  if (auto ok = unsupported(plan.offload.optimizer, "offload.optimizer"); !ok) return ok;
  if (auto ok = unsupported(plan.offload.activations, "offload.activations"); !ok) return ok;
  return unsupported(is_ddp && plan.offload.parameters, "offload.parameters");
}

// Without a cast autograd keeps the copy of an unsharded flat parameter that forward read, beside that of
// backward.
Result<void> check_offload(const Job& job, const std::string& file) {
  const Plan& plan = job.plan;
  if (plan.runtime != RuntimeName::fsdp1 || !plan.offload.parameters || shard_group_size(job) > 1 ||
      plan.precision.param != plan.precision.storage) {
    return {};
  }
  return fail(file, "offload.parameters",
              "is true where FSDP1 neither shards a flat parameter nor casts it, which is not "
              "described yet; expected false, a precision.param other than precision.storage, or a "
              "sharding.strategy that shards over more than one rank");
}

DeviceTraits own_device_of(const Plan& plan, DeviceTraits own) {
  own.is_deterministic = own.kind == DeviceKind::cuda && plan.pytorch.deterministic;
  return own;
}

DeviceTraits device_of(const Plan& plan, const Machine* machine, const DeviceTraits& own) {
  if (plan.operators == OperatorSetName::foreshard) return own;
  if (plan.operators == OperatorSetName::xla) return xla_device();
  return pytorch_device(machine == nullptr ? default_pytorch_machine() : *machine, plan.pytorch);
}

// Completes a job that has all but its warnings, and perhaps its units.
Result<Job> checked(Job job, const std::string& plan_file) {
  // Under DDP autocast computes in its type, whatever the parameters' is; the plan may name that type.
  const bool is_cast =
      job.plan.runtime == RuntimeName::ddp && job.plan.pytorch.autocast == Autocast::bf16;
  if (is_cast && job.plan.precision.param == DType::bf16) {
    job.plan.precision.param = job.plan.precision.storage;
  }
  const Plan& plan = job.plan;
  if (auto ok = check_model(job.model, plan, plan_file); !ok) {
    return tl::unexpected(ok.error());
  }
  if (auto ok = check_setup(job.model, plan, plan_file); !ok) return tl::unexpected(ok.error());
  if (auto ok = check_runtime(plan, plan_file); !ok) return tl::unexpected(ok.error());
  if (auto ok = check_pytorch_support(plan, plan_file); !ok) return tl::unexpected(ok.error());
  job.warnings = settings_without_effect(plan);
  if (job.machine) {
    std::string sentence = missing_network(*job.machine, node_count(job));
    if (!sentence.empty()) job.warnings.push_back(std::move(sentence));
  }
  if (describes_pytorch(plan.operators) && plan.allocator.expandable_segments && job.machine &&
      !has_expandable_segments(*job.machine, plan.pytorch)) {
    job.warnings.push_back("allocator.expandable_segments: PyTorch " +
                           to_string(plan.pytorch.version) +
                           " has none on AMD's GPUs and goes on without them, as this result does");
  }
  for (std::string& sentence : pytorch_approximations(plan)) {
    job.warnings.push_back(std::move(sentence));
  }
  if (plan.batch.sequence > job.model.context) {
    job.warnings.push_back("batch.sequence: " + std::to_string(plan.batch.sequence) +
                           " exceeds the model's max_position_embeddings, " +
                           std::to_string(job.model.context));
  }
  const bool knows_windows =
      plan.operators == OperatorSetName::foreshard ||
      (describes_pytorch(plan.operators) && implementation_of(plan).makes_masks);
  if (!knows_windows && job.model.window(job.model.layers - 1, plan.batch.sequence) != 0) {
    job.warnings.push_back("batch.sequence: " + std::to_string(plan.batch.sequence) +
                           " exceeds the model's sliding_window, " +
                           std::to_string(job.model.sliding_window) +
                           "; attention is described without the window");
  }
  if (plan.operators == OperatorSetName::pytorch_compile &&
      layer_attention(job, false).head_size != job.model.head_dim) {
    job.warnings.push_back("pytorch.attention: flash attention pads heads of " +
                           std::to_string(job.model.head_dim) +
                           " elements to a multiple of 8, which is not described of compiled "
                           "blocks");
  }
  if (auto ok = check_groups(job, plan_file); !ok) return tl::unexpected(ok.error());
  if (auto ok = check_offload(job, plan_file); !ok) return tl::unexpected(ok.error());
  if (auto ok = check_evaluation(job, plan_file); !ok) return tl::unexpected(ok.error());
  if (auto ok = check_globs(job, plan.sharding.keep_after_forward, plan_file,
                            "sharding.keep_after_forward");
      !ok) {
    return tl::unexpected(ok.error());
  }
  if (auto ok = check_globs(job, plan.pytorch.keep_sharded_in_backward, plan_file,
                            "pytorch.keep_sharded_in_backward");
      !ok) {
    return tl::unexpected(ok.error());
  }
  if (job.units.empty()) {
    auto units = wrap_units(job.tree, job.model, plan, plan_file);
    if (!units) return tl::unexpected(units.error());
    job.units = std::move(*units);
  }
  if (auto ok = check_compiled_blocks(job, plan_file); !ok) return tl::unexpected(ok.error());
  if (auto ok = check_frozen_units(job, plan_file); !ok) return tl::unexpected(ok.error());
  if (auto ok = check_sharded_units(job, plan_file); !ok) return tl::unexpected(ok.error());
  if (auto ok = check_program_size(job, plan_file); !ok) return tl::unexpected(ok.error());
  warn_of_globs_without_unit(job, plan.sharding.keep_after_forward, "sharding.keep_after_forward");
  warn_of_globs_without_unit(job, plan.pytorch.keep_sharded_in_backward,
                             "pytorch.keep_sharded_in_backward");
  for (std::string& sentence : unread_settings(job)) job.warnings.push_back(std::move(sentence));
  return job;
}

}  // namespace

int shard_group_size(const Job& job) {
  const bool is_whole =
      job.plan.runtime == RuntimeName::ddp || job.plan.sharding.strategy == Strategy::no_shard;
  if (is_whole) return 1;
  if (!is_hybrid(job.plan)) return job.ranks;
  if (job.plan.sharding.shard_group != 0) return static_cast<int>(job.plan.sharding.shard_group);
  return job.ranks / job.nodes;
}

Result<Job> make_job(Question question, const std::string& plan_file) {
  const Machine* const machine = question.machine ? &*question.machine : nullptr;
  auto plan = with_operators_of(machine, question.plan, plan_file);
  if (!plan) return tl::unexpected(plan.error());
  question.own_device = own_device_of(*plan, question.own_device);
  auto tree = as_trained(implementation_of(*plan).modules(question.model), *plan, plan_file);
  if (!tree) return tl::unexpected(tree.error());
  const DeviceTraits device = device_of(*plan, machine, question.own_device);
  question.plan = with_llama_classes(std::move(*plan), question.model);
  return checked({std::move(question), device, std::move(*tree), {}, {}}, plan_file);
}

Result<Job> make_job(const LlamaConfig& model, const Plan& plan, const std::string& plan_file,
                     int ranks, int nodes, const Machine* machine, const DeviceTraits& own_device) {
  return make_job(Question{model,
                           plan,
                           ranks,
                           nodes,
                           machine == nullptr ? std::nullopt : std::optional(*machine),
                           own_device,
                           {},
                           {},
                           {}},
                  plan_file);
}

Result<Job> replan(const Job& job, const Plan& given, const std::string& plan_file) {
  const Machine* const machine = job.machine ? &*job.machine : nullptr;
  Question question = job;
  question.plan = given;
  const auto checked_plan = with_operators_of(machine, given, plan_file);
  if (!checked_plan) return tl::unexpected(checked_plan.error());
  const Plan plan = with_llama_classes(*checked_plan, job.model);
  if (implementation_of(plan).modules != implementation_of(job.plan).modules ||
      plan.frozen != job.plan.frozen || !plan.frozen.empty() || plan.lora != job.plan.lora ||
      plan.lora.rank > 0) {
    return make_job(std::move(question), plan_file);
  }
  question.plan = plan;
  question.own_device = own_device_of(plan, job.own_device);
  const DeviceTraits device = device_of(plan, machine, question.own_device);
  const bool wraps_alike = plan.wrap == job.plan.wrap && plan.runtime == job.plan.runtime;
  return checked(
      {std::move(question), device, job.tree, wraps_alike ? job.units : std::vector<Unit>(), {}},
      plan_file);
}

bool is_checkpointed(const Job& job, std::size_t layer) {
  return is_checkpointed(job.plan.checkpointing, static_cast<std::int64_t>(layer));
}

AfterForward after_forward(const Job& job, UnitId unit) {
  const ShardingPlan& sharding = job.plan.sharding;
  if (is_named(job, unit, sharding.keep_after_forward)) return AfterForward::keep;
  const bool keeps = sharding.strategy == Strategy::shard_grad_op ||
                     sharding.strategy == Strategy::hybrid_shard_zero2;
  if (keeps) return AfterForward::keep;
  switch (sharding.reshard_after_forward.kind) {
    case ReshardAfterForward::Kind::automatic:
      return unit == 0 ? AfterForward::keep : AfterForward::reshard;
    case ReshardAfterForward::Kind::yes: return AfterForward::reshard;
    case ReshardAfterForward::Kind::no: return AfterForward::keep;
    case ReshardAfterForward::Kind::group: break;
  }
  const std::int64_t group = sharding.reshard_after_forward.group;
  if (group == 1) return AfterForward::keep;  // PyTorch reads the number 1 as false
  return group == shard_group_size(job) ? AfterForward::reshard : AfterForward::reshard_to_group;
}

bool stays_sharded_in_backward(const Job& job, UnitId unit) {
  return is_named(job, unit, job.plan.pytorch.keep_sharded_in_backward);
}

}  // namespace foreshard
