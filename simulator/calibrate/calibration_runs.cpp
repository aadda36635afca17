#include "simulator/calibrate/calibration_runs.hpp"

#include <array>
#include <stdexcept>

#include "models/base/figures.hpp"

namespace foreshard::simulator {
namespace {

constexpr std::int64_t kLeastWidth = 256, kMostWidth = 16384;

// Heads, ratios and vocabularies are those that bundled models of about the width have.
LlamaConfig model_of(std::int64_t width) {
  LlamaConfig model;
  model.name = "calibration-" + std::to_string(width);
  model.hidden = width;
  model.intermediate = width <= 1024 ? width / 4 * 11 : width <= 2048 ? width * 4 : width / 2 * 7;
  model.layers = 2;
  model.head_dim = width <= 2048 ? 64 : 128;
  model.heads = width / model.head_dim;
  model.kv_heads = width <= 512 ? model.heads / 2 : model.heads / 4;
  model.vocabulary = width < kLeastWidth ? 512
                     : width <= 512      ? 4096
                     : width <= 1024     ? 32000
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

// What GPUs train. Small work shows what launches take, that of bundled models how fast the device is:
// a calibration that ends early can predict a model of a billion parameters in bf16. Products of fp32
// are slow there, and few are trained with them.
struct Size {
  std::int64_t width;
  Batch batch;
  DType type;
  std::size_t feature;  // of kFeatures
  bool reduces_bf16 = false;
};
constexpr std::size_t kPlain = 0, kCheckpointed = 1, kOffloaded = 2, kBiased = 3, kByColumns = 4,
                      kSgd = 5, kParametersOffloaded = 6;
constexpr Size kSizesOnGpus[] = {
    {128, {2, 64}, DType::bf16, kPlain},
    {256, {4, 256}, DType::bf16, kPlain},
    {2048, {2, 2048}, DType::bf16, kPlain, true},
    {4096, {1, 4096}, DType::bf16, kPlain, true},
    {512, {4, 512}, DType::bf16, kCheckpointed},
    {2048, {1, 512}, DType::bf16, kCheckpointed},
    {768, {4, 1024}, DType::bf16, kPlain},
    {4096, {1, 8192}, DType::bf16, kCheckpointed},
    {256, {2, 512}, DType::bf16, kOffloaded},
    {1024, {8, 2048}, DType::bf16, kPlain, true},
    {2048, {4, 1024}, DType::bf16, kBiased},
    {256, {2, 128}, DType::bf16, kByColumns},
    {1024, {2, 512}, DType::bf16, kParametersOffloaded},
    {2048, {2, 8192}, DType::bf16, kCheckpointed},
    {512, {2, 1024}, DType::fp32, kPlain},
    {4096, {1, 1024}, DType::bf16, kSgd},
    {768, {16, 512}, DType::bf16, kBiased},
    {2048, {1, 2048}, DType::bf16, kOffloaded},
    {4096, {2, 2048}, DType::bf16, kByColumns},
    {256, {1, 512}, DType::fp32, kCheckpointed},
    {1024, {1, 4096}, DType::fp32, kOffloaded},
    {2048, {1, 2048}, DType::fp32, kSgd},
    {4096, {1, 2048}, DType::bf16, kParametersOffloaded},
    {8192, {1, 4096}, DType::bf16, kCheckpointed, true},
};

CalibrationRun run_of(const Size& size, int ranks, const DeviceTraits& device) {
  const Feature& feature = kFeatures[size.feature];
  Plan plan;
  plan.batch.micro_batch = size.batch.micro_batch;
  plan.batch.sequence = size.batch.sequence;
  plan.precision.param = size.type;
  if (size.reduces_bf16) plan.precision.reduce = DType::bf16;
  LlamaConfig model = model_of(size.width);
  feature.apply(model, plan, ranks);
  auto job = make_job(model, plan, "calibration", ranks, 0, nullptr, device);
  if (!job) throw std::logic_error(job.error().text());
  return {std::move(*job), "width " + std::to_string(size.width) + ", " + plural(ranks, "rank") +
                               ", " + std::to_string(size.batch.micro_batch) + " x " +
                               plural(size.batch.sequence, "token") + ", " +
                               std::string(name(size.type)) + feature.description};
}

}  // namespace

std::vector<CalibrationRun> calibration_runs(const CalibrationLimits& limits) {
  std::vector<CalibrationRun> runs;
  const auto add = [&](const Size& size, int ranks) {
    runs.push_back(run_of(size, ranks, limits.device));
  };
  if (limits.device.kind == DeviceKind::cuda) {
    for (const Size& size : kSizesOnGpus) {
      for (int ranks = 1; ranks <= limits.ranks; ranks *= 2) add(size, ranks);
    }
    return runs;
  }
  for (std::int64_t width = kLeastWidth; width <= kMostWidth; width *= 2) {
    for (int ranks = 1; ranks <= limits.ranks; ranks *= 2) {
      for (const DType type : {DType::fp32, DType::bf16}) {
        add({width, kBatches[runs.size() % kBatches.size()], type, runs.size() % kFeatures.size()},
            ranks);
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
