// Whole tensors on one rank's host, parameter by parameter: brought together from the shards of this
// process' ranks, or through messages from the others.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "executor/data/full_tensors.hpp"
#include "executor/run/rank_run.hpp"

namespace foreshard::executor {

// A rank's part of one parameter.
struct ShardData {
  ParameterShard shard;
  DType type = DType::fp32;
  std::string bytes;
};

class WholeTensors {
 public:
  // `ranks`: those of this process.
  WholeTensors(RunShared& shared, std::vector<int> ranks);

  // Where they are written: on rank 0.
  bool is_writer() const { return ranks_[0] == kWriter; }

  // A part of the rank at that place among this process' ranks.
  using Local = std::function<ShardData(std::size_t place, const ParameterShard& shard)>;
  // Every parameter, by all processes together; the writer is made where it is needed. Where it cannot
  // write, the other processes' parts are still taken; throws Aborted where one is lost.
  Result<void> write(const std::function<Result<FullTensorWriter>()>& make,
                     const Local& local) const;

 private:
  static constexpr int kWriter = 0;

  std::vector<ShardData> gather(ParameterId parameter, const Local& local) const;
  std::size_t longest_piece(ParameterId parameter) const;

  RunShared& shared_;
  std::vector<int> ranks_;
  // Of the first replica group, whose shards make up the whole; by rank and parameter.
  std::vector<std::vector<ParameterShard>> shards_;
};

}  // namespace foreshard::executor
