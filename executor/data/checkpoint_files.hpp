// How a checkpoint's tensors lie in its folder: one of these for each format. All have the state of the run in
// index.json, and differ in the files beside it.
#pragma once

#include <string>
#include <vector>

#include "executor/data/checkpoint.hpp"
#include "executor/data/checkpoint_contents.hpp"
#include "executor/data/checkpoint_index.hpp"

namespace foreshard::executor {

class CheckpointFiles {
 public:
  virtual ~CheckpointFiles() = default;

  // A shard's values, by the process that has them.
  virtual Result<void> write_shard(const std::string& folder, const ShardWriting& shard) const = 0;
  // By one process, once all shards are there: what makes them one, and completes the index.
  virtual Result<void> complete(const std::string& folder, CheckpointIndex& index) const = 0;
  // What is there, with every part looked at; adds to the contents.
  virtual Result<void> find(const std::string& folder, const CheckpointIndex& index,
                            CheckpointContents& contents) const = 0;
};

const CheckpointFiles& checkpoint_files(CheckpointFormat format);

// Whether a folder holds a checkpoint of torch.distributed.checkpoint.
bool is_dcp(const std::string& folder);
std::string dcp_metadata_path(const std::string& folder);

}  // namespace foreshard::executor
