// Small models cut into shards, for the tests of what reads and writes shards.
#pragma once

#include <algorithm>
#include <vector>

#include "models/llama/llama_config.hpp"
#include "models/llama/module_tree.hpp"
#include "models/program/step_program.hpp"
#include "tests/small_llama.hpp"

namespace foreshard::executor {

// Odd sizes, so that most parameters are padded on most numbers of ranks.
inline LlamaConfig small_config() {
  LlamaConfig config = tests::small_llama({12, 18, 2, 3, 1, 37});
  config.attention_bias = config.output_bias = true;
  return config;
}

// FSDP2's arithmetic: ceil(rows / N) rows each, the last ranks fewer or none.
inline ParameterShard shard_of(const ModuleTree& tree, ParameterId parameter, int rank, int ranks,
                               int dim = 0) {
  const auto& p = tree.parameters[static_cast<std::size_t>(parameter)];
  ParameterShard shard;
  shard.parameter = parameter;
  shard.rows = p.rows;
  shard.columns = p.columns;
  shard.shard_dim = dim == 1 && !p.is_vector && p.columns % ranks == 0 ? 1 : 0;
  if (shard.shard_dim == 1) {
    shard.first = p.columns / ranks * rank;
    shard.local = shard.padded = p.rows * (p.columns / ranks);
    return shard;
  }
  const auto chunk = (p.rows + ranks - 1) / ranks;
  shard.first = std::min(p.rows, chunk * rank);
  shard.local = (std::min(p.rows, chunk * (rank + 1)) - shard.first) * p.columns;
  shard.padded = chunk * p.columns;
  return shard;
}

// The elements of a whole parameter that a shard holds, and zeros up to its padded size.
template <typename T>
std::vector<T> part_of(const std::vector<T>& whole, const ParameterShard& shard) {
  std::vector<T> part;
  for (std::int64_t row = 0; row < shard.rows; ++row) {
    for (std::int64_t column = 0; column < shard.columns; ++column) {
      const auto at = shard.shard_dim == 1 ? column : row;
      const auto extent =
          shard.shard_dim == 1 ? shard.local / shard.rows : shard.local / shard.columns;
      const bool held = at >= shard.first && at < shard.first + extent;
      if (held) part.push_back(whole[static_cast<std::size_t>(row * shard.columns + column)]);
    }
  }
  part.resize(static_cast<std::size_t>(shard.padded));
  return part;
}

}  // namespace foreshard::executor
