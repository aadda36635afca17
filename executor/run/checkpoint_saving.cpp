#include "executor/run/checkpoint_saving.hpp"

#include "executor/communication/transport.hpp"
#include "executor/data/model_folder.hpp"
#include "executor/data/replace_folder.hpp"
#include "executor/run/whole_tensors.hpp"

namespace foreshard::executor {
namespace {

// Of the first replica, whose ranks hold all that the others do.
Result<void> write_shards(const RunShared& shared, const std::string& path,
                          std::span<const RankValues> ranks) {
  for (const RankValues& rank : ranks) {
    const RankPlace& place = rank.run->program().place;
    if (place[Group::replicate].index != 0) continue;
    const auto& shard = place[Group::shard];
    auto ok = write_checkpoint_shard(
        path, shared.options.save_format,
        {shared.job.model, shared.job.tree, shard.index, shard.size, rank.values});
    if (!ok) return ok;
  }
  return {};
}

// The parameters of a checkpoint that is a model, by all processes together.
Result<void> write_model(RunShared& shared, const std::string& path,
                         std::span<const RankValues> ranks) {
  std::vector<int> numbers;
  for (const RankValues& rank : ranks) numbers.push_back(rank.run->rank());
  const Job& job = shared.job;
  const DType type = job.plan.precision.storage;
  const auto begin = [&]() -> Result<FullTensorWriter> {
    const auto files = weight_files(writing_path(path), job.tree, type, WeightIndex::always);
    auto described = describe_weights(writing_path(path), job.model, job.tree, type, files);
    if (!described) return tl::unexpected(described.error());
    return FullTensorWriter::create(files, job.tree, type);
  };
  return WholeTensors(shared, numbers).write(begin, [&](std::size_t place, const auto& shard) {
    ShardData out{shard, type, {}};
    for (const CheckpointValue& value : ranks[place].values) {
      if (value.role != ValueRole::parameter || value.shard.parameter != shard.parameter) continue;
      const auto bytes = value.own_bytes();
      out.bytes.assign(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    }
    return out;
  });
}

}  // namespace

RunState state_after(const RunShared& shared, const StepReport& last) {
  const std::int64_t steps = last.step - shared.first_step + 1;
  const Job& job = shared.job;
  RunState state = initial_state(job, shared.data, shared.options);
  state.step = last.step;
  state.skipped = last.skipped;
  state.samples = shared.order.samples_done +
                  steps * job.ranks * job.plan.batch.accumulation * job.plan.batch.micro_batch;
  return state;
}

Result<void> save_checkpoint(RunShared& shared, const std::string& given, const RunState& state,
                             std::span<const RankValues> ranks) {
  const std::string path = plain_path(given);
  const bool leads = ranks[0].run->rank() == 0;
  const auto all = [&shared](const Result<void>& mine) {
    return agreed(shared.closing, shared.options.transport, mine);
  };
  try {
    auto begun = all(leads ? begin_checkpoint(path) : Result<void>());
    if (!begun) return begun;
    const CheckpointFormat format = shared.options.save_format;
    auto written = all(write_shards(shared, path, ranks));
    if (written && format == CheckpointFormat::hf) written = all(write_model(shared, path, ranks));
    if (!written) {
      if (leads) abandon_checkpoint(path);
      return written;
    }
    return all(leads ? commit_checkpoint(path, format, state) : written);
  } catch (const Aborted&) {
    if (leads) abandon_checkpoint(path);  // another process is gone
    throw;
  }
}

}  // namespace foreshard::executor
