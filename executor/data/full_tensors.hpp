// Writes whole tensors as safetensors with Hugging Face names, in one file or in several, a few rows at a
// time: the producer gathers them from the ranks' shards. For exports, and for checkpoints that are models.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "executor/data/model_folder.hpp"
#include "executor/data/safetensors_writer.hpp"
#include "models/base/dtype.hpp"
#include "models/base/error.hpp"
#include "models/llama/module_tree.hpp"
#include "models/program/step_program.hpp"

namespace foreshard::executor {

class FullTensorWriter {
 public:
  // All parameters of the model, in the tree's order, as fp32 or bf16 (rounded to nearest even).
  // A tied lm_head.weight is not written, as Hugging Face does not.
  static Result<FullTensorWriter> create(std::vector<WeightFile> files, const ModuleTree& tree,
                                         DType type);
  static Result<FullTensorWriter> create(const std::string& path, const ModuleTree& tree,
                                         DType type = DType::fp32);

  // Fills rows [first_row, first_row + rows) of the whole parameter, row-major.
  using Producer = std::function<void(std::int64_t first_row, std::int64_t rows, float* out)>;

  // The next parameter; they must come in the tree's order (std::logic_error otherwise).
  Result<void> write(ParameterId parameter, const Producer& producer);

  Result<void> finish();

 private:
  FullTensorWriter(std::vector<WeightFile> files, const ModuleTree& tree, DType type);
  Result<void> open_file();
  Result<void> append_rows(std::int64_t elements);

  std::vector<WeightFile> files_;
  const ModuleTree* tree_;
  DType type_;
  std::optional<SafetensorsWriter> file_;
  std::size_t at_file_ = 0;
  ParameterId next_ = 0;
  std::vector<float> rows_;
  std::vector<std::uint16_t> narrowed_;
};

// Copies what a shard holds of rows [first_row, first_row + rows) of its parameter to their places
// in `out`, widened to fp32. Called for every shard, a producer's rows are complete.
void copy_rows(const ParameterShard& shard, DType type, const void* data, std::int64_t first_row,
               std::int64_t rows, float* out);

}  // namespace foreshard::executor
