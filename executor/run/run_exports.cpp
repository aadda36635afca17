#include "executor/run/run_exports.hpp"

#include <algorithm>

#include "executor/data/full_tensors.hpp"
#include "executor/run/checkpoint_saving.hpp"
#include "models/llama/llama_config.hpp"
#include "models/plan/plan.hpp"
#include "models/sharding/job.hpp"

namespace foreshard::executor {
namespace {

// A rank's part of one parameter.
struct ShardData {
  ParameterShard shard;
  DType type = DType::fp32;
  std::string bytes;
};

// The shards of one parameter that make up the whole: those of the first replica group, in order.
using Pieces = std::vector<ShardData>;

// Where each parameter of a rank lies, by its id.
std::vector<ParameterShard> shards_by_parameter(const Job& job, int rank) {
  std::vector<ParameterShard> shards(job.tree.parameters.size());
  for (const UnitLayout& unit : unit_layouts(job, place_of(job, rank))) {
    for (const ParameterShard& s : unit.parameters) {
      shards[static_cast<std::size_t>(s.parameter)] = s;
    }
  }
  return shards;
}

// Brings the pieces of a parameter together: from this process' ranks, or over the transport, where
// each rank of the first replica group sends its own to the one that writes.
class Gatherer {
 public:
  Gatherer(RunShared& shared, const std::vector<std::unique_ptr<RankRun>>& ranks)
      : shared_(shared), ranks_(ranks) {
    const int members = place_of(shared.job, 0)[Group::shard].size;
    for (int rank = 0; rank < members; ++rank) {
      shards_.push_back(shards_by_parameter(shared.job, rank));
    }
  }

  bool is_writer() const { return ranks_[0]->rank() == kWriter; }

  // All pieces where they are written, nothing elsewhere. `local(rank, shard)`: a rank's own piece.
  template <typename Local>
  Pieces gather(ParameterId parameter, const Local& local) const {
    Pieces pieces;
    for (const auto& rank : ranks_) {
      const auto number = static_cast<std::size_t>(rank->rank());
      if (number >= shards_.size()) continue;
      pieces.push_back(local(*rank, shards_[number][static_cast<std::size_t>(parameter)]));
    }
    Transport* transport = shared_.options.transport;
    if (transport == nullptr) return pieces;
    auto all = executor::gather(shared_.closing, *transport,
                                pieces.empty() ? std::string() : std::move(pieces[0].bytes),
                                kWriter, longest_piece(parameter));
    if (!is_writer()) return {};
    const DType type = pieces[0].type;
    pieces.clear();
    for (std::size_t r = 0; r < shards_.size(); ++r) {
      pieces.push_back({shards_[r][static_cast<std::size_t>(parameter)], type, std::move(all[r])});
    }
    return pieces;
  }

 private:
  static constexpr int kWriter = 0;

  std::size_t longest_piece(ParameterId parameter) const {
    std::int64_t elements = 0;
    for (const auto& shards : shards_) {
      elements = std::max(elements, shards[static_cast<std::size_t>(parameter)].local);
    }
    return static_cast<std::size_t>(elements * item_size(DType::fp64));
  }

  RunShared& shared_;
  const std::vector<std::unique_ptr<RankRun>>& ranks_;
  std::vector<std::vector<ParameterShard>> shards_;  // by rank and parameter
};

// Where the file cannot be written the other processes' pieces are still taken.
template <typename Local>
Result<void> export_tensors(RunShared& shared, const std::string& path, const Gatherer& gatherer,
                            const Local& local) {
  const ModuleTree& tree = shared.job.tree;
  Result<void> done;
  std::optional<FullTensorWriter> writer;
  if (gatherer.is_writer()) {
    auto made = FullTensorWriter::create(path, tree);
    if (made) {
      writer.emplace(std::move(*made));
    } else {
      done = tl::unexpected(made.error());
    }
  }
  for (std::size_t p = 0; p < tree.parameters.size(); ++p) {
    const ParameterId id = static_cast<ParameterId>(p);
    const Pieces pieces = gatherer.gather(id, local);
    if (!writer || !done) continue;
    const auto rows = [&](std::int64_t first, std::int64_t count, float* out) {
      for (const ShardData& piece : pieces) {
        copy_rows(piece.shard, piece.type, piece.bytes.data(), first, count, out);
      }
    };
    done = writer->write(id, rows);
  }
  if (writer && done) done = writer->finish();
  return agreed(shared.closing, shared.options.transport, done);
}

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
  const Gatherer gatherer(shared, ranks);
  if (!options.export_weights.empty()) {
    shared.note(export_tensors(shared, options.export_weights, gatherer, weights_of));
  }
  if (!options.export_gradients.empty() && !result.steps.empty()) {
    shared.note(export_tensors(shared, options.export_gradients, gatherer, gradients_of));
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
