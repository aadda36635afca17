// Sharded checkpoints: everything a run needs to go on exactly where it was.
//
// A checkpoint is a folder: index.json, which has the state of the run, and the values of every parameter and of
// its optimizer states in one of these formats:
//
//   native      "shard-00000-of-00004.safetensors" for each shard of the model, tensors "parameter/NAME",
//               "exp_avg/NAME", ... in the dtypes they have in memory; the index says which holds which part
//   hf          a Hugging Face model folder; the optimizer's states as above, in the folder "optimizer"
//   dcp         a checkpoint of torch.distributed.checkpoint with transformers' names
//   torchtitan  one with torchtitan's names and order of rows, which its trainer loads
//
// Under hybrid sharding the ranks of one replica group write; the others hold the same.
//
// Writing takes three calls, with all ranks in agreement between them:
//   one rank      begin_checkpoint(path)               makes PATH.foreshard-writing
//   each writer   write_checkpoint_shard(path, ...)    its file, on the disk when the call returns
//   one rank      commit_checkpoint(path, state, ...)  completes and checks the files, renames
// Before the last of them the weights of `hf` are written to writing_path(path), as a model folder is.
// A crash at any moment leaves the previous checkpoint or the new one readable under PATH.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "executor/data/run_state.hpp"
#include "models/base/dtype.hpp"
#include "models/base/error.hpp"
#include "models/llama/llama_config.hpp"
#include "models/llama/module_tree.hpp"
#include "models/plan/plan.hpp"
#include "models/program/step_program.hpp"

namespace foreshard::executor {

// What a tensor is to its parameter.
enum class ValueRole : std::uint8_t { parameter, exp_avg, exp_avg_sq };
std::string_view name(ValueRole role);

// One tensor of a rank's memory that belongs to a parameter's shard; it begins with the shard's
// `local` elements.
struct CheckpointValue {
  ParameterShard shard;
  ValueRole role = ValueRole::parameter;
  DType type = DType::fp32;
  std::span<const std::byte> bytes;

  std::span<const std::byte> own_bytes() const {
    return bytes.first(static_cast<std::size_t>(shard.local * item_size(type)));
  }
};

enum class CheckpointFormat : std::uint8_t { native, dcp, hf, torchtitan };
inline constexpr std::array kCheckpointFormats{CheckpointFormat::native, CheckpointFormat::dcp,
                                               CheckpointFormat::hf, CheckpointFormat::torchtitan};
std::string_view name(CheckpointFormat format);

// Fails where the format has no place for a model's parameters.
Result<void> check_format(CheckpointFormat format, const LlamaConfig& config,
                          const ModuleTree& tree);

// Whether a checkpoint could be written there: the folder above exists and nothing that is not a
// checkpoint would be replaced. For the command line, before any work is done.
Result<void> check_checkpoint_target(const std::string& path);

Result<void> begin_checkpoint(const std::string& path);
// One shard of the model, of `count`.
struct ShardWriting {
  const LlamaConfig& model;
  const ModuleTree& tree;
  int index = 0, count = 1;
  std::vector<CheckpointValue> values;
};
Result<void> write_checkpoint_shard(const std::string& path, CheckpointFormat format,
                                    const ShardWriting& shard);
Result<void> commit_checkpoint(const std::string& path, CheckpointFormat format,
                               const RunState& state);

// Removes what begin_checkpoint and the writers left, after a failure.
void abandon_checkpoint(const std::string& path);

struct CheckpointContents;

class Checkpoint {
 public:
  // One of ours, or one that torch.distributed.checkpoint has written with transformers' or torchtitan's names.
  // Reads what describes it and checks every file against it.
  static Result<Checkpoint> open(const std::string& path);

  // Whether it has the state of the run that it is of; one of PyTorch has not, but for the step that its
  // optimizer's states are of (0 where they do not say it).
  bool has_run() const;
  const RunState& state() const;
  const std::string& index_file() const;  // where that is stored
  // The same with the state of a run that it has been said to be of.
  Checkpoint of_run(RunState state) const;

  // Fails unless the checkpoint is of this model: same config, and every parameter in its shape.
  Result<void> check_model(const LlamaConfig& config, const ModuleTree& tree) const;

  // Fails unless the checkpoint holds just what this plan's optimizer goes on with, in its dtypes.
  Result<void> check_plan(const ModuleTree& tree, const Plan& plan) const;

  // This rank's part of a parameter's values, gathered from the files that hold it, bit by bit:
  // `shard.local` elements, then zeros up to `capacity` elements. On any number of ranks and for
  // either shard dimension. Fails when the values are missing or of another dtype. Safe to call
  // from several threads at once.
  Result<void> read(const ModuleTree& tree, const ParameterShard& shard, ValueRole role, DType type,
                    std::int64_t capacity, void* out) const;

 private:
  std::shared_ptr<const CheckpointContents> contents_;
  RunState state_;
};

}  // namespace foreshard::executor
