#include "executor/run/whole_tensors.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include "models/sharding/job.hpp"

namespace foreshard::executor {
namespace {

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

}  // namespace

WholeTensors::WholeTensors(RunShared& shared, std::vector<int> ranks)
    : shared_(shared), ranks_(std::move(ranks)) {
  const int members = place_of(shared.job, 0)[Group::shard].size;
  for (int rank = 0; rank < members; ++rank) {
    shards_.push_back(shards_by_parameter(shared.job, rank));
  }
}

Result<void> WholeTensors::write(const std::function<Result<FullTensorWriter>()>& make,
                                 const Local& local) const {
  Result<void> done;
  std::optional<FullTensorWriter> writer;
  if (is_writer()) {
    auto made = make();
    if (made) {
      writer.emplace(std::move(*made));
    } else {
      done = tl::unexpected(made.error());
    }
  }
  for (std::size_t p = 0; p < shared_.job.tree.parameters.size(); ++p) {
    const ParameterId id = static_cast<ParameterId>(p);
    const std::vector<ShardData> pieces = gather(id, local);
    if (!writer || !done) continue;
    const auto rows = [&](std::int64_t first, std::int64_t count, float* out) {
      for (const ShardData& piece : pieces) {
        copy_rows(piece.shard, piece.type, piece.bytes.data(), first, count, out);
      }
    };
    done = writer->write(id, rows);
  }
  if (writer && done) done = writer->finish();
  return done;
}

// All pieces where they are written, nothing elsewhere.
std::vector<ShardData> WholeTensors::gather(ParameterId parameter, const Local& local) const {
  const auto id = static_cast<std::size_t>(parameter);
  std::vector<ShardData> pieces;
  for (std::size_t place = 0; place < ranks_.size(); ++place) {
    const auto rank = static_cast<std::size_t>(ranks_[place]);
    if (rank < shards_.size()) pieces.push_back(local(place, shards_[rank][id]));
  }
  Transport* transport = shared_.options.transport;
  if (transport == nullptr) return pieces;
  auto all = executor::gather(shared_.closing, *transport,
                              pieces.empty() ? std::string() : std::move(pieces[0].bytes), kWriter,
                              longest_piece(parameter));
  if (!is_writer()) return {};
  const DType type = pieces[0].type;
  pieces.clear();
  for (std::size_t r = 0; r < shards_.size(); ++r) {
    pieces.push_back({shards_[r][id], type, std::move(all[r])});
  }
  return pieces;
}

std::size_t WholeTensors::longest_piece(ParameterId parameter) const {
  std::int64_t elements = 0;
  for (const auto& shards : shards_) {
    elements = std::max(elements, shards[static_cast<std::size_t>(parameter)].local);
  }
  return static_cast<std::size_t>(elements * item_size(DType::fp64));
}

}  // namespace foreshard::executor
