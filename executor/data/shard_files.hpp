// Shards as safetensors: a file for each, tensors "parameter/NAME", "exp_avg/NAME", ... in the dtypes they have
// in memory, and index.json, which says which file holds which part. Native checkpoints have all values so, a
// Hugging Face folder those that are no parameters.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "executor/data/checkpoint.hpp"
#include "executor/data/checkpoint_contents.hpp"
#include "executor/data/checkpoint_index.hpp"

namespace foreshard::executor {

Result<void> write_shard_file(const std::string& folder, const ShardWriting& shard);

// Completes the index by what each shard file says of itself.
Result<void> index_shard_files(const std::string& folder, CheckpointIndex& index);

// Adds the values, each of which must be in its file as the index has it.
Result<void> find_shard_files(const std::string& folder, const CheckpointIndex& index,
                              CheckpointContents& contents);

}  // namespace foreshard::executor
