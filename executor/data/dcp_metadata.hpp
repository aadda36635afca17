// What PyTorch's distributed checkpoints (torch.distributed.checkpoint, "DCP") have in `.metadata`: of each
// tensor its type, shape and chunks, and where in which file each chunk and each other value lies. It is a
// pickle of the classes in torch/distributed/checkpoint/metadata.py (PyTorch 2.2 to 2.11); nothing of it is
// called.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "executor/data/safetensors.hpp"
#include "models/base/error.hpp"

namespace foreshard::executor {

// An archive of torch.save (torch_archive.hpp) within a file of the folder.
struct DcpPlace {
  std::string file;
  std::int64_t offset = 0, bytes = 0;
};

struct DcpChunk {
  std::vector<std::int64_t> offsets, sizes;
  DcpPlace place;
};

struct DcpTensor {
  StoredType type = StoredType::f32;
  std::vector<std::int64_t> shape;
  std::vector<DcpChunk> chunks;
};

struct DcpMetadata {
  std::map<std::string, DcpTensor> tensors;  // by name in the state dictionary
  std::map<std::string, DcpPlace> values;    // that are no tensors
  // The keys, from the outermost, of whatever lies in nested dictionaries and lists: of a list the number.
  std::map<std::string, std::vector<std::string>> paths;
};

std::string to_pickle(const DcpMetadata& metadata);

// Tensors of types that are not known here are left out; an error names the file and what is wrong.
Result<DcpMetadata> parse_dcp_metadata(std::span<const std::byte> bytes, const std::string& file);

}  // namespace foreshard::executor
