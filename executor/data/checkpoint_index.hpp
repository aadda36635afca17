// What a checkpoint's index.json contains: the state of the run, and for every parameter its shape, the
// dtype of each of its values, and which file holds which part of it. The
// parts are those in shard files; a checkpoint that is not native says what it is, and lists those alone.
//
//   {"format": "foreshard-checkpoint", "version": 1, "step": 40, ..., "tensors": "hf", "files": 2,
//    "parameters": [{"name": "model.norm.weight", "shape": [96, 1],
//                    "values": {"parameter": "F32", "exp_avg": "F32", "exp_avg_sq": "F32"},
//                    "parts": [{"file": 0, "rows": [0, 48], "columns": [0, 1]}, ...]}]}
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "executor/data/checkpoint.hpp"
#include "executor/data/safetensors.hpp"
#include "executor/data/shard_region.hpp"
#include "models/base/error.hpp"

namespace foreshard::executor {

struct CheckpointPart {
  int file = 0;
  Region region;
};

struct CheckpointParameter {
  std::string name;
  std::int64_t rows = 0, columns = 0;
  std::map<std::string, StoredType> values;  // by role
  std::vector<CheckpointPart> parts;
};

struct CheckpointIndex {
  RunState state;
  CheckpointFormat format = CheckpointFormat::native;
  int files = 0;
  std::vector<CheckpointParameter> parameters;
};

std::string to_json(const CheckpointIndex& index);

// Checks as well that the parts of every parameter cover it once.
Result<CheckpointIndex> parse_checkpoint_index(std::span<const std::byte> text,
                                               const std::string& file);

// Whether a folder holds an index that marks it as a checkpoint of ours.
bool is_checkpoint(const std::string& folder);

// What errors name as expected where there is none.
constexpr const char* kCheckpoint = "a checkpoint";

// Names inside a checkpoint.
std::string index_path(const std::string& folder);
std::string shard_path(const std::string& folder, int shard, int shards);
std::string value_name(const std::string& role, const std::string& parameter);

// What a shard file has of itself in its metadata: where its parts belong. commit_checkpoint
// makes the index from these, so that the writers need not communicate.
constexpr const char* kPartsKey = "foreshard_parts";
std::string parts_json(const std::map<std::string, CheckpointParameter>& parameters);
Result<std::vector<CheckpointParameter>> parse_parts(const std::string& text,
                                                     const std::string& file);

}  // namespace foreshard::executor
