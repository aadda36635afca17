// Reads safetensors: weights by name, in one file or in several listed by an index.
//
// A file is an 8-byte little-endian length, a JSON header of that length, and the tensors' bytes:
//   {"__metadata__": {"key": "text"}, "NAME": {"dtype": "F32", "shape": [2, 3],
//    "data_offsets": [begin, end]}, ...}
// Offsets count from the end of the header. A file is checked wholly before anything is read from
// it: the tensors must cover the data without gaps or overlaps and fit their shapes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "models/base/dtype.hpp"
#include "models/base/error.hpp"
#include "models/base/mapped_file.hpp"

namespace foreshard::executor {

enum class StoredType : std::uint8_t {
  boolean,
  u8,
  i8,
  u16,
  i16,
  u32,
  i32,
  u64,
  i64,
  f16,
  bf16,
  f32,
  f64,
  kCount
};
std::string_view name(StoredType type);  // "F32", as files spell it
std::int64_t item_size(StoredType type);
StoredType stored_type(DType type);

struct StoredTensor {
  std::string name;
  StoredType type = StoredType::f32;
  std::vector<std::int64_t> shape;
  std::int64_t elements = 0;
  std::span<const std::byte> data;  // of the mapped file; not aligned
  std::size_t file = 0;             // which of the reader's files
};

// "[2, 3]", for messages.
std::string shape_text(std::span<const std::int64_t> shape);

struct SafetensorsContents {
  std::vector<StoredTensor> tensors;  // in the order of their data
  std::map<std::string, std::string> metadata;
};

// A whole file's bytes; `file` is used in messages only. The tensors' data point into `bytes`.
Result<SafetensorsContents> parse_safetensors(std::span<const std::byte> bytes,
                                              const std::string& file);

// Copies elements [first, first + count) of a tensor to `out` as fp32, rounding where it must.
void read_as_float(const StoredTensor& tensor, std::int64_t first, std::int64_t count, float* out);

class SafetensorsReader {
 public:
  // A .safetensors file, a *.index.json that lists several, or a folder with either (called
  // model.safetensors, model.safetensors.index.json, or the only .safetensors file in it).
  static Result<SafetensorsReader> open(const std::string& path);

  const StoredTensor* find(const std::string& name) const;  // nullptr when there is none
  const std::vector<StoredTensor>& tensors() const { return tensors_; }
  const std::map<std::string, std::string>& metadata() const { return metadata_; }
  const std::string& file_of(const StoredTensor& tensor) const {
    return files_[tensor.file].path();
  }
  const std::string& path() const { return path_; }

 private:
  Result<void> add_file(const std::string& path);
  Result<void> add_index(const std::string& path);

  std::string path_;
  std::vector<MappedFile> files_;
  std::vector<StoredTensor> tensors_;
  std::unordered_map<std::string, std::size_t> by_name_;
  std::map<std::string, std::string> metadata_;
};

}  // namespace foreshard::executor
