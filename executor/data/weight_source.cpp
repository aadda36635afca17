#include "executor/data/weight_source.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "executor/data/shard_region.hpp"
#include "models/base/float_formats.hpp"
#include "models/base/fnv_hash.hpp"

namespace foreshard::executor {

namespace {

std::vector<std::int64_t> shape_of(const Parameter& parameter) {
  if (parameter.is_vector) return {parameter.rows};
  return {parameter.rows, parameter.columns};
}

// Tensors that a file may hold although the model has no such parameter: old files store rotary
// frequencies, and some store a tied head beside the embedding that it is.
bool may_be_passed_over(const std::string& name, const LlamaConfig& config) {
  constexpr std::string_view kRotary = ".rotary_emb.inv_freq";
  return name.ends_with(kRotary) || (config.tied_embeddings && name == "lm_head.weight");
}

}  // namespace

WeightSource WeightSource::drawn(const LlamaConfig& config, std::uint64_t seed) {
  WeightSource source;
  source.drawn_ = {seed, config.initializer_range};
  return source;
}

Result<WeightSource> WeightSource::from_file(const std::string& path, const LlamaConfig& config,
                                             const ModuleTree& tree) {
  auto reader = SafetensorsReader::open(path);
  if (!reader) return tl::unexpected(reader.error());
  std::unordered_set<std::string> known;
  for (const auto& parameter : tree.parameters) {
    known.insert(parameter.name);
    const auto* tensor = reader->find(parameter.name);
    const auto shape = shape_of(parameter);
    if (tensor == nullptr) {
      return fail(reader->path(), parameter.name,
                  "is missing; expected shape " + shape_text(shape));
    }
    if (tensor->shape != shape) {
      return fail(reader->file_of(*tensor), parameter.name,
                  "has shape " + shape_text(tensor->shape) + "; expected " + shape_text(shape));
    }
  }
  for (const auto& tensor : reader->tensors()) {
    if (!known.contains(tensor.name) && !may_be_passed_over(tensor.name, config)) {
      return fail(reader->file_of(tensor), tensor.name,
                  "is not a parameter of the model; expected the weights of this model");
    }
  }
  WeightSource source;
  source.file_ = std::make_shared<const SafetensorsReader>(std::move(*reader));
  return source;
}

std::optional<std::uint64_t> WeightSource::fingerprint() const {
  if (!file_) return std::nullopt;
  constexpr std::int64_t kBlock = 256;
  // In order of names: files may hold them in any.
  std::map<std::string, const StoredTensor*> tensors;
  for (const StoredTensor& tensor : file_->tensors()) tensors[tensor.name] = &tensor;
  FnvHash hash;
  for (const auto& [name, tensor] : tensors) {
    hash.add(name);
    const std::int64_t count = std::min(kBlock, tensor->elements);
    std::vector<float> values(static_cast<std::size_t>(count));
    for (const std::int64_t first : {std::int64_t{0}, tensor->elements - count}) {
      read_as_float(*tensor, first, count, values.data());
      for (const float value : values) hash.add(std::bit_cast<std::uint32_t>(value));
    }
  }
  return hash.value();
}

void WeightSource::fill(const ModuleTree& tree, const ParameterShard& shard, DType storage,
                        void* out, WorkerPool& workers) const {
  const auto& parameter = tree.parameters[static_cast<std::size_t>(shard.parameter)];
  const auto* tensor = file_ ? file_->find(parameter.name) : nullptr;
  const auto values = [&](std::int64_t first, std::int64_t count, float* to) {
    if (tensor != nullptr) return read_as_float(*tensor, first, count, to);
    drawn_.fill(tree, shard.parameter, first, count, to);
  };
  const Region whole{0, shard.rows, 0, shard.columns};
  const Region mine = region_of(shard);
  const auto padding = static_cast<std::size_t>(shard.padded - shard.local);
  if (storage == DType::fp32) {
    auto* to = static_cast<float*>(out);
    share_runs(workers, mine, whole, mine,
               [&](std::int64_t from, std::int64_t at, std::int64_t count) {
                 values(from, count, to + at);
               });
    std::fill_n(to + shard.local, padding, 0.0f);
    return;
  }
  auto* to = static_cast<std::uint16_t*>(out);
  share_runs(workers, mine, whole, mine,
             [&](std::int64_t from, std::int64_t at, std::int64_t count) {
               constexpr std::int64_t kPiece = 4096;
               float piece[kPiece];
               for (std::int64_t done = 0; done < count; done += kPiece) {
                 const auto n = std::min(kPiece, count - done);
                 values(from + done, n, piece);
                 std::transform(piece, piece + n, to + at + done,
                                [](float value) { return float_to_bf16(value); });
               }
             });
  std::fill_n(to + shard.local, padding, std::uint16_t{0});
}

}  // namespace foreshard::executor
