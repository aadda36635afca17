// Checkpoints of PyTorch (torch.distributed.checkpoint): `.metadata` and a file for each rank, "__0_0.distcp",
// whose items are what torch.save writes (dcp_metadata.hpp, torch_archive.hpp). Beside the tensors there is
// what PyTorch's optimizers and torchtitan's trainer load with them, in a second file of rank 0.
//
// While ranks write, each leaves what is in its own file as "__0.metadata", under which name PyTorch too knows
// the metadata of one rank; they are put together at the end.
#pragma once

#include "executor/data/checkpoint_files.hpp"
#include "executor/data/state_names.hpp"

namespace foreshard::executor {

class DcpFiles final : public CheckpointFiles {
 public:
  explicit DcpFiles(StateNames names) : names_(names) {}

  Result<void> write_shard(const std::string& folder, const ShardWriting& shard) const override;
  Result<void> complete(const std::string& folder, CheckpointIndex& index) const override;
  // Whatever the names are, also of a checkpoint that PyTorch has written: the state's step is the one that the
  // optimizer's states are of, where they say it.
  Result<void> find(const std::string& folder, const CheckpointIndex& index,
                    CheckpointContents& contents) const override;

 private:
  StateNames names_;
};

}  // namespace foreshard::executor
