// What torch.save writes of one value: a zip archive with a pickle ("archive/data.pkl") and, of a tensor,
// the bytes of its storage ("archive/data/0"). The format: torch/serialization.py and PyTorch's
// caffe2/serialize/inline_container.h (version 3).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "executor/data/safetensors.hpp"
#include "models/base/error.hpp"

namespace foreshard::executor {

// "float32" and the like, of the module torch; nothing for types that have no tensors here.
std::optional<std::string_view> torch_name(StoredType type);
std::optional<StoredType> torch_type_named(std::string_view name);

// Of a dense tensor: what goes before and behind its bytes.
struct TensorArchive {
  std::string head, tail;
};
TensorArchive archive_of_tensor(StoredType type, std::span<const std::int64_t> shape,
                                std::span<const std::byte> data);

// Of a plain value, by its pickle (TorchPickle).
std::string archive_of_value(std::string_view pickle);

struct ArchivedTensor {
  StoredType type = StoredType::f32;
  std::vector<std::int64_t> shape;
  std::span<const std::byte> data;  // dense, row by row; of the archive
};

// An error names `file` and, as the field, `name`: an archive that is damaged, or whose tensor is not dense.
Result<ArchivedTensor> read_archived_tensor(std::span<const std::byte> archive,
                                            const std::string& file, const std::string& name);

}  // namespace foreshard::executor
