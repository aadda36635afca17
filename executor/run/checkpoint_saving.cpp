#include "executor/run/checkpoint_saving.hpp"

#include "executor/communication/transport.hpp"

namespace foreshard::executor {
namespace {

// Of the first replica, whose ranks hold all that the others do.
Result<void> write_shards(const RunShared& shared, const std::string& path,
                          std::span<const RankValues> ranks) {
  for (const RankValues& rank : ranks) {
    const RankPlace& place = rank.run->program().place;
    if (place[Group::replicate].index != 0) continue;
    const auto& shard = place[Group::shard];
    auto ok = write_checkpoint_shard(path, shared.job.tree, shard.index, shard.size, rank.values);
    if (!ok) return ok;
  }
  return {};
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

Result<void> save_checkpoint(RunShared& shared, const std::string& path, const RunState& state,
                             std::span<const RankValues> ranks) {
  const bool leads = ranks[0].run->rank() == 0;
  const auto all = [&shared](const Result<void>& mine) {
    return agreed(shared.closing, shared.options.transport, mine);
  };
  try {
    auto begun = all(leads ? begin_checkpoint(path) : Result<void>());
    if (!begun) return begun;
    auto written = all(write_shards(shared, path, ranks));
    if (!written) {
      if (leads) abandon_checkpoint(path);
      return written;
    }
    return all(leads ? commit_checkpoint(path, state) : written);
  } catch (const Aborted&) {
    if (leads) abandon_checkpoint(path);  // another process is gone
    throw;
  }
}

}  // namespace foreshard::executor
