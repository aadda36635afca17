// What an open checkpoint of any format holds: the state of its run, and of every parameter where the values
// of its parts lie in the files, which stay mapped.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "executor/data/run_state.hpp"
#include "executor/data/safetensors.hpp"
#include "executor/data/shard_region.hpp"
#include "executor/data/state_names.hpp"
#include "models/base/mapped_file.hpp"

namespace foreshard::executor {

// The values of a region, row by row.
struct StoredPart {
  Region region;
  const std::byte* data = nullptr;
};

struct StoredValue {
  StoredType type = StoredType::f32;
  std::vector<StoredPart> parts;  // that cover the parameter once
};

struct StoredParameter {
  std::int64_t rows = 0, columns = 0;
  std::map<std::string, StoredValue> values;  // by role
};

struct CheckpointContents {
  std::string state_file;  // index.json; `.metadata` of a checkpoint that PyTorch has written
  bool has_run = true;     // else the state is what whoever goes on from it has said
  RunState state;
  StateNames names = StateNames::transformers;  // whose order of rows the values have
  std::map<std::string, StoredParameter> parameters;
  // Where the data lie.
  std::vector<SafetensorsReader> weights;
  std::vector<MappedFile> files;
};

// Whether regions cover a matrix once.
bool cover_once(std::vector<Region> regions, std::int64_t rows, std::int64_t columns);

}  // namespace foreshard::executor
