#include "simulator/calibrate/calibration_runs.hpp"

#include <array>
#include <stdexcept>

#include "models/base/figures.hpp"

namespace foreshard::simulator {
namespace {

constexpr std::int64_t kLeastWidth = 256, kMostWidth = 16384;

// On GPUs a narrower width with short batches comes first, and the others' batches are longer.
constexpr std::int64_t kFirstWidthOnGpus = 128;
constexpr std::int64_t kShorter = 4, kLonger = 8;

// Heads, ratios and vocabularies are those that bundled models of about the width have.
LlamaConfig model_of(std::int64_t width) {
  LlamaConfig model;
  model.name = "calibration-" + std::to_string(width);
  model.hidden = width;
  model.intermediate = width <= 1024 ? width / 4 * 11 : width / 2 * 7;
  model.layers = 2;
  model.head_dim = width <= 1024 ? 64 : 128;
  model.heads = width / model.head_dim;
  model.kv_heads = width <= 512 ? model.heads / 2 : model.heads / 4;
  model.vocabulary = width < kLeastWidth ? 512
                     : width <= 512      ? 4096
                     : width <= 2048     ? 32000
                                         : 128256;
  model.context = 8192;
  return model;
}

struct Batch {
  std::int64_t micro_batch, sequence;
};
constexpr std::array<Batch, 5> kBatches{{{2, 256}, {3, 128}, {1, 320}, {4, 192}, {1, 448}}};

// What a run does besides or instead of the usual.
struct Feature {
  const char* description;
  void (*apply)(LlamaConfig& model, Plan& plan, int ranks);
};
constexpr int kTwoGroups = 4;  // ranks that divide into two groups of more than one
const std::array<Feature, 7> kFeatures{{
    {"", [](LlamaConfig&, Plan&, int) {}},
    {", one unit, checkpointed",
     [](LlamaConfig&, Plan& plan, int) {
       plan.wrap.policy = WrapPolicy::none;
       plan.checkpointing.mode = CheckpointMode::full;
     }},
    {", optimizer and activations on the host",
     [](LlamaConfig&, Plan& plan, int) {
       plan.offload.optimizer = plan.offload.activations = true;
     }},
    {", biases, not resharded",
     [](LlamaConfig& model, Plan& plan, int) {
       model.attention_bias = true;
       plan.sharding.reshard_after_forward.kind = ReshardAfterForward::Kind::no;
       plan.batch.accumulation = 2;
     }},
    {", sharded by columns",
     [](LlamaConfig&, Plan& plan, int ranks) {
       plan.sharding.shard_dim = 1;
       if (ranks < kTwoGroups) return;
       plan.sharding.reshard_after_forward = {ReshardAfterForward::Kind::group, ranks / 2};
     }},
    {", bf16 gradients, SGD",
     [](LlamaConfig&, Plan& plan, int ranks) {
       plan.precision.reduce.reset();
       plan.optimizer.name = OptimizerName::sgd;
       if (ranks < kTwoGroups) return;
       plan.sharding.strategy = Strategy::hybrid_shard;
       plan.sharding.shard_group = ranks / 2;
     }},
    {", parameters on the host",
     [](LlamaConfig&, Plan& plan, int) { plan.offload.parameters = true; }},
}};

std::int64_t sequence_of(const Batch& batch, std::int64_t width, const DeviceTraits& device) {
  if (device.kind == DeviceKind::cpu) return batch.sequence;
  return width < kLeastWidth ? batch.sequence / kShorter : batch.sequence * kLonger;
}

}  // namespace

std::vector<CalibrationRun> calibration_runs(const CalibrationLimits& limits) {
  std::vector<CalibrationRun> runs;
  const std::int64_t first =
      limits.device.kind == DeviceKind::cuda ? kFirstWidthOnGpus : kLeastWidth;
  for (std::int64_t width = first; width <= kMostWidth; width *= 2) {
    for (int ranks = 1; ranks <= limits.ranks; ranks *= 2) {
      for (const DType type : {DType::fp32, DType::bf16}) {
        const Batch& batch = kBatches[runs.size() % kBatches.size()];
        const Feature& feature = kFeatures[runs.size() % kFeatures.size()];
        Plan plan;
        plan.batch.micro_batch = batch.micro_batch;
        plan.batch.sequence = sequence_of(batch, width, limits.device);
        plan.precision.param = type;
        LlamaConfig model = model_of(width);
        feature.apply(model, plan, ranks);
        auto job = make_job(model, plan, "calibration", ranks, 0, nullptr, limits.device);
        if (!job) throw std::logic_error(job.error().text());
        runs.push_back({std::move(*job), "width " + std::to_string(width) + ", " +
                                             plural(ranks, "rank") + ", " +
                                             std::string(name(type)) + feature.description});
      }
    }
  }
  return runs;
}

double step_operations(const Job& job) {
  const LlamaConfig& model = job.model;
  const auto parameters = static_cast<double>(model.parameters() - model.vocabulary * model.hidden);
  return 6 * parameters * static_cast<double>(tokens_per_step(job));
}

}  // namespace foreshard::simulator
