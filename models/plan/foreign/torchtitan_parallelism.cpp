#include "models/plan/foreign/torchtitan_parallelism.hpp"

#include <algorithm>

namespace foreshard::foreign {
namespace {

constexpr std::string_view kNoTensor =
    "a plan has no tensor parallelism; the plan is that of one rank's whole model";
constexpr std::string_view kNoPipeline =
    "a plan has no pipeline parallelism; the plan is that of one rank's whole model";
constexpr std::string_view kNoContext =
    "a plan has no context parallelism: every rank has whole sequences";
constexpr Limit kLimits[] = {
    {"parallelism.tensor_parallel_degree", "1", kNoTensor},
    {"training.tensor_parallel_degree", "1", kNoTensor},
    {"parallelism.pipeline_parallel_degree", "1", kNoPipeline},
    {"experimental.pipeline_parallel_degree", "1", kNoPipeline},
    {"training.pipeline_parallel_degree", "1", kNoPipeline},
    {"parallelism.context_parallel_degree", "1", kNoContext},
    {"experimental.context_parallel_degree", "1", kNoContext},
    {"parallelism.expert_parallel_degree", "1", "the models here have no experts"},
    {"parallelism.expert_tensor_parallel_degree", "1", "the models here have no experts"},
    {"parallelism.enable_fsdp_symm_mem", "", "a plan's collectives are NCCL's"},
};
// Of parallelism that a plan does not have.
constexpr Names kNoEffect =
    "parallelism.disable_loss_parallel training.disable_loss_parallel "
    "training.enable_loss_parallel parallelism.enable_async_tensor_parallel "
    "parallelism.enable_sequence_parallel compile.enable_async_tensor_parallel "
    "parallelism.spmd_backend parallelism.num_pp_microbatches "
    "parallelism.context_parallel_ptrr_mask_key experimental.enable_async_tensor_parallel "
    "parallelism.pipeline_parallel_schedule experimental.pipeline_parallel_schedule "
    "parallelism.pipeline_parallel_schedule_csv experimental.pipeline_parallel_schedule_csv "
    "parallelism.pipeline_parallel_split_points experimental.pipeline_parallel_split_points "
    "experimental.pipeline_parallel_split_mode experimental.pipeline_parallel_microbatches "
    "parallelism.pipeline_parallel_microbatch_size "
    "parallelism.pipeline_parallel_layers_per_stage "
    "parallelism.pipeline_parallel_first_stage_less_layers "
    "parallelism.pipeline_parallel_last_stage_less_layers "
    "parallelism.pipeline_parallel_expert_parallel_overlap "
    "parallelism.module_fqns_per_model_part parallelism.context_parallel_rotate_method "
    "experimental.context_parallel_rotate_method parallelism.context_parallel_load_balancer "
    "parallelism.expert_parallel_comm_backend";

// Units as of July 2025: the embedding, each block, and norm and head together. Keys that came with or
// after that change tell; a file without any may be of either time.
bool has_units_for_ends(const Conversion& c) {
  return is_of_registry(c) || c.has("model.hf_assets_path") || c.has("compile") ||
         c.has("quantize") || c.has("debug") || c.has("lr_scheduler.min_lr_factor") ||
         c.has("checkpoint.enable") || c.has("training.dtype") ||
         c.has("activation_checkpoint.early_stop");
}

void read_reshard(Conversion& c, bool has_pipeline) {
  enum class Policy : std::uint8_t { usual, always, never };
  const std::string key =
      c.first_of({"parallelism.fsdp_reshard_after_forward", "training.fsdp_reshard_after_forward"});
  const auto policy =
      c.choice<Policy>(
           key, {{"default", Policy::usual}, {"always", Policy::always}, {"never", Policy::never}})
          .value_or(Policy::usual);
  auto& reshard = c.plan.sharding.reshard_after_forward.kind;
  if (policy == Policy::always) {
    reshard = ReshardAfterForward::Kind::yes;
  } else if (policy == Policy::never || has_pipeline) {
    reshard = ReshardAfterForward::Kind::no;
  }
  c.carry(key, {"sharding.reshard_after_forward"});
  if (policy != Policy::usual || has_pipeline) return;
  if (has_units_for_ends(c)) {
    c.plan.sharding.keep_after_forward = {"model.norm", "lm_head"};
    c.imply({"sharding.keep_after_forward"}, "norm and head are needed again at once");
  } else {
    reshard = ReshardAfterForward::Kind::yes;
    c.imply({},
            "torchtitan of that time kept the last block after forward; in a plan its name, such "
            "as \"model.layers.31\", goes into sharding.keep_after_forward");
  }
}

void read_units(Conversion& c) {
  if (has_units_for_ends(c)) {
    c.plan.wrap.policy = WrapPolicy::modules;
    c.plan.wrap.modules = {{{"model.embed_tokens"}, false},
                           {{"model.layers.*"}, false},
                           {{"model.norm", "lm_head"}, true}};
    c.imply({"wrap.policy", "wrap.modules"}, "torchtitan's units since July 2025");
  } else {
    c.imply({"wrap.policy", "wrap.layer_class"}, "torchtitan's units before July 2025");
  }
}

}  // namespace

std::optional<std::int64_t> read_torchtitan_parallelism(Conversion& c) {
  const std::string replicas = c.first_of(
      {"parallelism.data_parallel_replicate_degree", "training.data_parallel_replicate_degree"});
  const std::string shards =
      c.first_of({"parallelism.data_parallel_shard_degree", "training.data_parallel_shard_degree",
                  "training.data_parallel_degree"});
  const std::string tensor =
      c.first_of({"parallelism.tensor_parallel_degree", "training.tensor_parallel_degree"});
  const std::string pipeline =
      c.first_of({"parallelism.pipeline_parallel_degree", "experimental.pipeline_parallel_degree",
                  "training.pipeline_parallel_degree"});
  const std::string context =
      c.first_of({"parallelism.context_parallel_degree", "experimental.context_parallel_degree"});
  const std::int64_t copies = c.integer(replicas, {1, kMaxRanks}).value_or(1);
  std::int64_t group = c.integer(shards, {-1, kMaxRanks}).value_or(-1);
  if (group == 0) c.wrong(shards, "-1 (the ranks that are left) or a number of ranks");
  const std::int64_t others = c.integer(tensor, {1, 1024}).value_or(1) *
                              c.integer(pipeline, {1, 1024}).value_or(1) *
                              c.integer(context, {1, 1024}).value_or(1);
  const bool is_open = group < 1;
  if (is_open && c.ranks()) {
    group = *c.ranks() / (copies * others);
    if (group * copies * others != *c.ranks()) {
      c.wrong(copies > 1 ? replicas : tensor,
              "degrees that divide --ranks " + std::to_string(*c.ranks()));
    }
  }
  std::optional<std::int64_t> data_ranks;
  if (group > 0 && group * copies * others <= kMaxRanks) {
    data_ranks = group * copies;
    if (!is_open) c.name_ranks(shards, *data_ranks * others);
  }
  c.limit(kLimits);
  c.set_aside(kNoEffect);

  ShardingPlan& sharding = c.plan.sharding;
  if (copies > 1 && group == 1 && !is_of_registry(c)) {
    c.plan.runtime = RuntimeName::ddp;
    sharding.strategy = Strategy::no_shard;
    c.plan.wrap.policy = WrapPolicy::none;
    c.plan.pytorch.bucket_cap_mb.mebibytes = 100;
    c.carry(replicas, {"runtime", "sharding.strategy", "wrap.policy", "pytorch.bucket_cap_mb"});
    c.set_aside({shards, "parallelism.fsdp_reshard_after_forward"});
    return data_ranks;
  }
  if (copies > 1) {
    sharding.strategy = Strategy::hybrid_shard;
    sharding.shard_group = std::max<std::int64_t>(group, 0);
    c.carry(replicas, {"sharding.strategy"});
    c.carry(shards, {"sharding.shard_group"});
    if (group < 1) {
      c.drop(c.has(shards) ? shards : replicas,
             "a group is all ranks / " + std::to_string(copies) +
                 ", whose number is not known; the plan has the ranks of a node. Give --ranks");
    }
  } else {
    c.carry(shards, {"sharding.strategy"});
    c.set_aside({replicas});
  }
  c.imply({"runtime"}, "torchtitan shards with fully_shard");
  read_units(c);
  read_reshard(c, c.integer(pipeline, {1, 1024}).value_or(1) > 1);
  return data_ranks;
}

}  // namespace foreshard::foreign
