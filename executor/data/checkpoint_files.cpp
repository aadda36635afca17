#include "executor/data/checkpoint_files.hpp"

#include <filesystem>

#include "executor/data/dcp_files.hpp"
#include "executor/data/shard_files.hpp"

namespace foreshard::executor {
namespace {

class NativeFiles final : public CheckpointFiles {
 public:
  Result<void> write_shard(const std::string& folder, const ShardWriting& shard) const override {
    return write_shard_file(folder, shard);
  }
  Result<void> complete(const std::string& folder, CheckpointIndex& index) const override {
    return index_shard_files(folder, index);
  }
  Result<void> find(const std::string& folder, const CheckpointIndex& index,
                    CheckpointContents& contents) const override {
    return find_shard_files(folder, index, contents);
  }
};

// The parameters are a model of Hugging Face's, whose files one process writes by itself (model_folder.hpp);
// what else there is lies in a folder of it, where nobody takes it for weights.
class ModelFiles final : public CheckpointFiles {
 public:
  Result<void> write_shard(const std::string& folder, const ShardWriting& shard) const override {
    std::error_code error;
    std::filesystem::create_directory(states_in(folder), error);
    if (error) return fail(states_in(folder), "", "cannot be created: " + error.message());
    ShardWriting states = shard;
    std::erase_if(states.values, [](const auto& v) { return v.role == ValueRole::parameter; });
    return write_shard_file(states_in(folder), states);
  }

  Result<void> complete(const std::string& folder, CheckpointIndex& index) const override {
    return index_shard_files(states_in(folder), index);
  }

  Result<void> find(const std::string& folder, const CheckpointIndex& index,
                    CheckpointContents& contents) const override {
    auto done = find_shard_files(states_in(folder), index, contents);
    if (!done) return done;
    auto model = SafetensorsReader::open(folder + "/model.safetensors.index.json");
    if (!model) return tl::unexpected(model.error());
    for (const StoredTensor& tensor : model->tensors()) {
      StoredParameter& parameter = contents.parameters[tensor.name];
      const std::int64_t rows = tensor.shape.empty() ? 1 : tensor.shape[0];
      const std::int64_t columns = rows == 0 ? 0 : tensor.elements / rows;
      if (!parameter.values.empty() && (parameter.rows != rows || parameter.columns != columns)) {
        return fail(model->file_of(tensor), tensor.name,
                    "has shape " + shape_text(tensor.shape) + ", and its states have " +
                        shape_text(std::vector{parameter.rows, parameter.columns}) +
                        "; expected the same");
      }
      parameter.rows = rows;
      parameter.columns = columns;
      parameter.values[std::string(name(ValueRole::parameter))] = {
          tensor.type, {{{0, rows, 0, columns}, tensor.data.data()}}};
    }
    contents.weights.push_back(std::move(*model));
    return {};
  }

 private:
  static std::string states_in(const std::string& folder) { return folder + "/optimizer"; }
};

}  // namespace

const CheckpointFiles& checkpoint_files(CheckpointFormat format) {
  static const NativeFiles native;
  static const ModelFiles model;
  static const DcpFiles transformers{StateNames::transformers}, torchtitan{StateNames::torchtitan};
  switch (format) {
    case CheckpointFormat::dcp: return transformers;
    case CheckpointFormat::torchtitan: return torchtitan;
    case CheckpointFormat::hf: return model;
    case CheckpointFormat::native: break;
  }
  return native;
}

}  // namespace foreshard::executor
