// Writes a safetensors file tensor by tensor, so that no more than a piece of one is in memory.
// The format needs all names and shapes first, hence the declarations given to create().
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "executor/data/safetensors.hpp"
#include "models/base/atomic_file.hpp"
#include "models/base/error.hpp"

namespace foreshard::executor {

struct TensorDeclaration {
  std::string name;
  StoredType type = StoredType::f32;
  std::vector<std::int64_t> shape;
};

class SafetensorsWriter {
 public:
  // The file appears under `path` only when finish() succeeds.
  static Result<SafetensorsWriter> create(const std::string& path,
                                          const std::vector<TensorDeclaration>& tensors,
                                          const std::map<std::string, std::string>& metadata = {});

  // The next bytes of the data: all tensors in the declared order, in pieces of any size.
  Result<void> append(std::span<const std::byte> bytes);

  // Throws std::logic_error when the declared bytes were not all appended.
  Result<void> finish();

 private:
  SafetensorsWriter(AtomicFile file, std::int64_t bytes);

  AtomicFile file_;
  std::int64_t remaining_ = 0;
};

}  // namespace foreshard::executor
