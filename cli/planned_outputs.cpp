#include "cli/planned_outputs.hpp"

#include <algorithm>
#include <utility>

#include "executor/data/checkpoint_series.hpp"
#include "simulator/predict/checkpoint.hpp"

namespace foreshard::cli {
namespace {

// What is written beside the values, at most.
std::int64_t described_bytes(const Job& job, executor::CheckpointFormat format, int writers) {
  using executor::CheckpointFormat;
  const std::int64_t parameters = std::ssize(job.tree.parameters);
  // Each tensor's name and place in the headers of all shards and in the index.
  constexpr std::int64_t kEntry = 512;
  if (format == CheckpointFormat::native || format == CheckpointFormat::hf) {
    return kEntry * writers * parameters;
  }
  // An archive for each chunk of each value, and its place in the metadata; steps and options besides.
  constexpr std::int64_t kArchive = 2048, kValues = 3, kOptions = 16;
  std::int64_t chunks = writers * parameters;
  if (format == CheckpointFormat::torchtitan) {
    // A shard that begins or ends within a head has its rows there one by one.
    chunks += 4 * job.model.layers * writers * job.model.head_dim;
  }
  return kArchive * (kValues * chunks + kOptions * parameters);
}

}  // namespace

std::vector<PlannedOutput> planned_outputs(const Job& job,
                                           const executor::TrainingOptions& options) {
  std::vector<PlannedOutput> outputs;
  if (!options.save.empty()) {
    const auto cost = simulator::checkpoint_cost(job, nullptr).sharded;
    const std::int64_t bytes = cost.bytes + described_bytes(job, options.save_format, cost.writers);
    std::int64_t count = 1;
    if (options.save_every > 0) {
      const std::int64_t there = std::ssize(executor::steps_in(options.save));
      const std::int64_t done = options.resume ? options.resume->state().step : 0;
      const std::int64_t made =
          (options.steps - done + options.save_every - 1) / options.save_every;
      // A new one is whole before an old one goes.
      count = std::min(made, std::max<std::int64_t>(0, options.keep - there) + 1);
    }
    outputs.push_back({options.save, count * bytes});
  }
  std::int64_t elements = 0;
  for (const auto& parameter : job.tree.parameters) elements += parameter.numel();
  for (const auto& [path, type] : {std::pair(&options.export_weights, options.export_dtype),
                                   {&options.export_gradients, DType::fp32}}) {
    if (!path->empty()) outputs.push_back({*path, elements * item_size(type)});
  }
  return outputs;
}

}  // namespace foreshard::cli
