#include "executor/run/run_exports.hpp"

#include "executor/data/model_folder.hpp"
#include "executor/data/replace_folder.hpp"
#include "executor/run/checkpoint_saving.hpp"
#include "executor/run/whole_tensors.hpp"

namespace foreshard::executor {
namespace {

ShardData weights_of(const RankRun& rank, const ParameterShard& shard) {
  ShardData out{shard, DType::fp32, {}};
  for (const RankState::Value& v : rank.state().values()) {
    if (v.shard->parameter != shard.parameter || v.role != ValueRole::parameter) continue;
    out.type = v.type;
    if (shard.local == 0) continue;
    const auto bytes = RankState::contents(v, rank.memory());
    out.bytes.assign(reinterpret_cast<const char*>(bytes.data()),
                     static_cast<std::size_t>(shard.local * item_size(v.type)));
  }
  return out;
}

ShardData gradients_of(const RankRun& rank, const ParameterShard& shard) {
  const std::vector<float>& values = rank.gradients().at(shard.parameter);
  return {shard, DType::fp32,
          std::string(reinterpret_cast<const char*>(values.data()), 4 * values.size())};
}

// In the process that writes.
Result<FullTensorWriter> begin_weights(const Job& job, const std::string& path, DType type) {
  if (!names_model_folder(path)) return FullTensorWriter::create(path, job.tree, type);
  if (auto ok = check_model_folder_target(path); !ok) return tl::unexpected(ok.error());
  if (auto ok = begin_folder(path); !ok) return tl::unexpected(ok.error());
  const std::string folder = writing_path(path);
  const auto files = weight_files(folder, job.tree, type);
  auto described = describe_weights(folder, job.model, job.tree, type, files);
  if (!described) return tl::unexpected(described.error());
  return FullTensorWriter::create(files, job.tree, type);
}

Result<void> export_weights(RunShared& shared, const WholeTensors& tensors,
                            const WholeTensors::Local& local) {
  const std::string path = plain_path(shared.options.export_weights);
  const auto begin = [&] { return begin_weights(shared.job, path, shared.options.export_dtype); };
  auto done = tensors.write(begin, local);
  if (tensors.is_writer() && names_model_folder(path)) {
    if (done) done = replace_folder(writing_path(path), path);
    if (!done) abandon_folder(path);
  }
  return agreed(shared.closing, shared.options.transport, done);
}

}  // namespace

void write_outputs(RunShared& shared, const std::vector<std::unique_ptr<RankRun>>& ranks,
                   const TrainingResult& result) {
  const TrainingOptions& options = shared.options;
  // Before the first step there are no optimizer states, and nothing that would be lost.
  if (!options.save.empty() && options.save_every == 0 && !result.steps.empty()) {
    std::vector<RankValues> values;
    for (const auto& rank : ranks) values.push_back(rank->closing_values());
    shared.note(
        save_checkpoint(shared, options.save, state_after(shared, result.steps.back()), values));
  }
  std::vector<int> numbers;
  for (const auto& rank : ranks) numbers.push_back(rank->rank());
  const WholeTensors tensors(shared, numbers);
  if (!options.export_weights.empty()) {
    shared.note(export_weights(shared, tensors, [&ranks](std::size_t place, const auto& shard) {
      return weights_of(*ranks[place], shard);
    }));
  }
  if (!options.export_gradients.empty() && !result.steps.empty()) {
    const auto create = [&] {
      return FullTensorWriter::create(options.export_gradients, shared.job.tree);
    };
    const auto done = tensors.write(create, [&ranks](std::size_t place, const auto& shard) {
      return gradients_of(*ranks[place], shard);
    });
    shared.note(agreed(shared.closing, options.transport, done));
  }
}

Result<void> close_recording(RunShared& shared, std::unique_ptr<profiler::Recorder> recorder,
                             const std::string& reason) {
  const TrainingOptions& options = shared.options;
  const auto own = recorder->close(reason);
  recorder.reset();
  auto closed =
      agreed(shared.closing, options.transport, own ? Result<void>() : tl::unexpected(own.error()));
  if (!closed || options.transport == nullptr) return closed;
  const bool leads = options.transport->rank() == 0;
  return agreed(
      shared.closing, options.transport,
      leads ? traces::merge_parts(options.trace, options.transport->size()) : Result<void>());
}

}  // namespace foreshard::executor
