// A Hugging Face model folder: config.json, and the weights in safetensors of at most 5 GB with the
// index that says which of them holds what, as transformers' save_pretrained has them.
//
//   config.json, model.safetensors                                       where one file holds all
//   config.json, model.safetensors.index.json, model-00001-of-00003.safetensors, ...
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "models/base/dtype.hpp"
#include "models/base/error.hpp"
#include "models/llama/llama_config.hpp"
#include "models/llama/module_tree.hpp"

namespace foreshard::executor {

// The longest file, unless one tensor alone is longer.
constexpr std::int64_t kLongestWeightFile = 5'000'000'000;

// A file of weights: the parameters from the end of the file before up to `end`.
struct WeightFile {
  std::string path;
  ParameterId end = 0;
};

enum class WeightIndex : std::uint8_t { where_needed, always };

// How a model's parameters of one dtype are spread over the files of a folder, in the tree's order.
std::vector<WeightFile> weight_files(const std::string& folder, const ModuleTree& tree, DType type,
                                     WeightIndex index = WeightIndex::where_needed,
                                     std::int64_t longest = kLongestWeightFile);

// What lies beside the weights: config.json, and the index where these files have one.
Result<void> describe_weights(const std::string& folder, const LlamaConfig& config,
                              const ModuleTree& tree, DType type,
                              const std::vector<WeightFile>& files);

// Whether a folder has weights under such names.
bool holds_weights(const std::string& folder);

// Whether `path` is to be such a folder: it has no suffix, and is no device.
bool names_model_folder(const std::string& path);

// Whether one can be written there: the folder above exists, and nothing but a model would be replaced.
Result<void> check_model_folder_target(const std::string& path);

}  // namespace foreshard::executor
