#include "executor/data/model_folder.hpp"

#include <filesystem>

#include <nlohmann/json.hpp>

#include "executor/data/replace_folder.hpp"
#include "models/base/atomic_file.hpp"
#include "models/base/figures.hpp"
#include "models/base/json_text.hpp"

namespace foreshard::executor {
namespace {

namespace fs = std::filesystem;

constexpr const char* kIndex = "model.safetensors.index.json";

bool belongs_to_model(const std::string& name) {
  return name == "config.json" || name == kIndex ||
         (name.starts_with("model") && name.ends_with(".safetensors"));
}

bool holds_model_alone(const std::string& folder) {
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error)) {
    if (!belongs_to_model(entry->path().filename().string())) return false;
  }
  return !error;
}

}  // namespace

std::vector<WeightFile> weight_files(const std::string& folder, const ModuleTree& tree, DType type,
                                     WeightIndex index, std::int64_t longest) {
  std::vector<ParameterId> ends;
  std::int64_t bytes = 0;
  for (std::size_t p = 0; p < tree.parameters.size(); ++p) {
    const std::int64_t more = tree.parameters[p].numel() * item_size(type);
    if (bytes > 0 && bytes + more > longest) {
      ends.push_back(static_cast<ParameterId>(p));
      bytes = 0;
    }
    bytes += more;
  }
  ends.push_back(static_cast<ParameterId>(tree.parameters.size()));
  if (ends.size() == 1 && index == WeightIndex::where_needed) {
    return {{folder + "/model.safetensors", ends[0]}};
  }
  std::vector<WeightFile> files;
  for (std::size_t f = 0; f < ends.size(); ++f) {
    files.push_back(
        {folder + formatted("/model-%05zu-of-%05zu.safetensors", f + 1, ends.size()), ends[f]});
  }
  return files;
}

Result<void> describe_weights(const std::string& folder, const LlamaConfig& config,
                              const ModuleTree& tree, DType type,
                              const std::vector<WeightFile>& files) {
  auto description = nlohmann::ordered_json::parse(to_json(config));
  // As transformers 5 and transformers 4 spell it.
  description["dtype"] = description["torch_dtype"] = type == DType::bf16 ? "bfloat16" : "float32";
  auto done = write_atomically(folder + "/config.json", json_text(description, 2) + "\n");
  if (!done || files[0].path == folder + "/model.safetensors") return done;
  nlohmann::ordered_json map = nlohmann::ordered_json::object();
  std::int64_t bytes = 0;
  std::size_t file = 0;
  for (std::size_t p = 0; p < tree.parameters.size(); ++p) {
    if (static_cast<ParameterId>(p) == files[file].end) ++file;
    map[tree.parameters[p].name] = fs::path(files[file].path).filename().string();
    bytes += tree.parameters[p].numel() * item_size(type);
  }
  const nlohmann::ordered_json index = {{"metadata", {{"total_size", bytes}}},
                                        {"weight_map", std::move(map)}};
  return write_atomically(folder + "/" + kIndex, json_text(index, 2) + "\n");
}

bool holds_weights(const std::string& folder) {
  std::error_code error;
  return fs::exists(folder + "/" + kIndex, error) ||
         fs::exists(folder + "/model.safetensors", error);
}

bool names_model_folder(const std::string& path) {
  return !path.empty() && !fs::path(plain_path(path)).has_extension() && !is_written_through(path);
}

Result<void> check_model_folder_target(const std::string& path) {
  return check_folder_target(path, "a folder with a model alone", holds_model_alone);
}

}  // namespace foreshard::executor
