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
  model.intermediate = width <= 1024 ? width / 4 * 11 : width / 2 * 7;
  model.layers = 2;
  model.head_dim = width <= 1024 ? 64 : 128;
  model.heads = width / model.head_dim;
  model.kv_heads = width <= 512 ? model.heads / 2 : model.heads / 4;
  model.vocabulary = width <= 512 ? 4096 : width <= 2048 ? 32000 : 128256;
  model.context = 8192;
  return model;
}

struct Batch {
  std::int64_t micro_batch, sequence;
};
constexpr std::array<Batch, 5> kBatches{{{2, 256}, {3, 128}, {1, 320}, {4, 192}, {1, 448}}};

struct Feature {
  const char* description;
  void (*apply)(Plan& plan);
};
const std::array<Feature, 7> kFeatures{{
    {"", [](Plan&) {}},
    {", checkpointed in one unit",
     [](Plan& plan) {
       plan.wrap.policy = WrapPolicy::none;
       plan.checkpointing.mode = CheckpointMode::full;
     }},
    {", optimizer on the host", [](Plan& plan) { plan.offload.optimizer = true; }},
    {", not resharded",
     [](Plan& plan) {
       plan.sharding.reshard_after_forward.kind = ReshardAfterForward::Kind::no;
       plan.batch.accumulation = 2;
     }},
    {", parameters on the host", [](Plan& plan) { plan.offload.parameters = true; }},
    {", every 2nd block checkpointed",
     [](Plan& plan) { plan.checkpointing.mode = CheckpointMode::every; }},
    {", activations on the host", [](Plan& plan) { plan.offload.activations = true; }},
}};

constexpr std::int64_t kLongerOnGpus = 8;

}  // namespace

std::vector<CalibrationRun> calibration_runs(const CalibrationLimits& limits) {
  std::vector<CalibrationRun> runs;
  for (std::int64_t width = kLeastWidth; width <= kMostWidth; width *= 2) {
    for (int ranks = 1; ranks <= limits.ranks; ranks *= 2) {
      for (const DType type : {DType::fp32, DType::bf16}) {
        const Batch& batch = kBatches[runs.size() % kBatches.size()];
        const Feature& feature = kFeatures[runs.size() % kFeatures.size()];
        Plan plan;
        plan.batch.micro_batch = batch.micro_batch;
        plan.batch.sequence =
            batch.sequence * (limits.device.kind == DeviceKind::cuda ? kLongerOnGpus : 1);
        plan.precision.param = type;
        feature.apply(plan);
        auto job = make_job(model_of(width), plan, "calibration", ranks, 0, nullptr, limits.device);
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
