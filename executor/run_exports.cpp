#include "executor/run_exports.hpp"

#include <cstring>

#include "executor/full_tensors.hpp"
#include "models/llama_config.hpp"
#include "models/plan.hpp"

namespace foreshard::executor {
namespace {

struct ShardData {
  ParameterShard shard;
  DType type = DType::fp32;
  std::string bytes;
};

// The shards of one parameter that make up the whole: those of the first replica group, in order.
using Pieces = std::vector<ShardData>;

// Brings the pieces of a parameter together: from this process' ranks, or over the transport.
class Gatherer {
 public:
  Gatherer(const Job& job, RunShared& shared, const std::vector<std::unique_ptr<RankRun>>& ranks)
      : job_(job), shared_(shared), ranks_(ranks) {}

  bool is_writer() const { return transport() == nullptr || transport()->rank() == 0; }
  Transport* transport() const { return shared_.options.transport; }

  template <typename Local>  // Local(const RankRun&) -> ShardData of the parameter
  Pieces gather(ParameterId parameter, const Local& local) const {
    Pieces pieces;
    const int shards = place_of(job_, 0).groups[static_cast<int>(Group::shard)].size;
    if (transport() == nullptr) {
      for (int r = 0; r < shards; ++r)
        pieces.push_back(local(*ranks_[static_cast<std::size_t>(r)]));
      return pieces;
    }
    const auto all = exchange(shared_.run, *transport(), local(*ranks_[0]).bytes);
    for (int r = 0; r < shards; ++r) {
      for (const UnitLayout& unit : unit_layouts(job_, place_of(job_, r))) {
        for (const ParameterShard& s : unit.parameters) {
          if (s.parameter == parameter) {
            pieces.push_back({s, local(*ranks_[0]).type, all[static_cast<std::size_t>(r)]});
          }
        }
      }
    }
    return pieces;
  }

 private:
  const Job& job_;
  RunShared& shared_;
  const std::vector<std::unique_ptr<RankRun>>& ranks_;
};

const ParameterShard& shard_of(const RankRun& rank, ParameterId parameter) {
  for (const UnitLayout& unit : rank.program().units) {
    for (const ParameterShard& s : unit.parameters) {
      if (s.parameter == parameter) return s;
    }
  }
  throw std::logic_error("a parameter belongs to no unit");
}

template <typename Local>
Result<void> export_tensors(const Job& job, const std::string& path, const Gatherer& gatherer,
                            const Local& local) {
  std::optional<FullTensorWriter> writer;
  if (gatherer.is_writer()) {
    auto made = FullTensorWriter::create(path, job.tree);
    if (!made) return tl::unexpected(made.error());
    writer.emplace(std::move(*made));
  }
  for (std::size_t p = 0; p < job.tree.parameters.size(); ++p) {
    const ParameterId id = static_cast<ParameterId>(p);
    const Pieces pieces = gatherer.gather(id, [&](const RankRun& rank) { return local(rank, id); });
    if (!writer) continue;
    const auto rows = [&](std::int64_t first, std::int64_t count, float* out) {
      for (const ShardData& piece : pieces) {
        copy_rows(piece.shard, piece.type, piece.bytes.data(), first, count, out);
      }
    };
    if (auto ok = writer->write(id, rows); !ok) return ok;
  }
  return writer ? writer->finish() : Result<void>();
}

Result<void> export_weights(const Job& job, const std::string& path, const Gatherer& gatherer) {
  return export_tensors(job, path, gatherer, [](const RankRun& rank, ParameterId id) {
    ShardData out{shard_of(rank, id), DType::fp32, {}};
    for (const RankState::Value& v : rank.state().values()) {
      if (v.shard->parameter != id || std::strcmp(v.role, "parameter") != 0) continue;
      out.type = v.type;
      if (v.shard->local == 0) continue;
      const auto bytes = rank.memory().bytes(v.buffer);
      out.bytes.assign(reinterpret_cast<const char*>(bytes.data()),
                       static_cast<std::size_t>(v.shard->local * item_size(v.type)));
    }
    return out;
  });
}

Result<void> export_gradients(const Job& job, const std::string& path, const Gatherer& gatherer) {
  return export_tensors(job, path, gatherer, [](const RankRun& rank, ParameterId id) {
    const std::vector<float>& values = rank.gradients().at(id);
    return ShardData{shard_of(rank, id), DType::fp32,
                     std::string(reinterpret_cast<const char*>(values.data()), 4 * values.size())};
  });
}

Result<void> save_checkpoint(const Job& job, RunShared& shared,
                             std::vector<std::unique_ptr<RankRun>>& ranks,
                             const TrainingResult& result) {
  const TrainingOptions& options = shared.options;
  Transport* transport = options.transport;
  const auto meet = [&] {
    if (transport != nullptr) exchange(shared.run, *transport, "");
  };
  const bool leads = transport == nullptr || transport->rank() == 0;
  if (leads) {
    if (auto ok = begin_checkpoint(options.save); !ok) return ok;
  }
  meet();
  for (auto& rank : ranks) {
    const auto& groups = rank->program().place.groups;
    if (groups[static_cast<int>(Group::replicate)].index != 0) continue;
    const auto& shard = groups[static_cast<int>(Group::shard)];
    auto ok = write_checkpoint_shard(options.save, job.tree, shard.index, shard.size,
                                     rank->state().checkpoint_values(rank->memory()));
    if (!ok) return abandon_checkpoint(options.save), ok;
  }
  meet();
  if (!leads) return {};
  const std::int64_t done = static_cast<std::int64_t>(result.steps.size());
  CheckpointFacts facts;
  facts.step = shared.first_step - 1 + done;
  facts.total_steps = options.total_steps;
  facts.seed = options.seed;
  facts.samples = shared.order.samples_done +
                  done * job.ranks * job.plan.batch.accumulation * job.plan.batch.micro_batch;
  facts.ranks = job.ranks;
  facts.nodes = job.nodes;
  facts.data = options.data;
  facts.plan = to_toml(job.plan);
  facts.model = to_json(job.model);
  return commit_checkpoint(options.save, facts);
}

}  // namespace

Result<void> write_outputs(const Job& job, RunShared& shared,
                           std::vector<std::unique_ptr<RankRun>>& ranks,
                           const TrainingResult& result) {
  const TrainingOptions& options = shared.options;
  const Gatherer gatherer(job, shared, ranks);
  if (!options.export_gradients.empty() && !result.steps.empty()) {
    if (auto ok = export_gradients(job, options.export_gradients, gatherer); !ok) return ok;
  }
  if (!options.export_weights.empty()) {
    if (auto ok = export_weights(job, options.export_weights, gatherer); !ok) return ok;
  }
  if (!options.save.empty()) return save_checkpoint(job, shared, ranks, result);
  return {};
}

}  // namespace foreshard::executor
