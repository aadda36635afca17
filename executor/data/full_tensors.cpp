#include "executor/data/full_tensors.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "executor/data/shard_region.hpp"
#include "models/base/float_formats.hpp"

namespace foreshard::executor {

namespace {

constexpr std::int64_t kPieceElements = 1 << 20;  // 4 MiB are in memory at a time

}  // namespace

Result<FullTensorWriter> FullTensorWriter::create(std::vector<WeightFile> files,
                                                  const ModuleTree& tree, DType type) {
  FullTensorWriter writer(std::move(files), tree, type);
  if (auto done = writer.open_file(); !done) return tl::unexpected(done.error());
  return writer;
}

Result<FullTensorWriter> FullTensorWriter::create(const std::string& path, const ModuleTree& tree,
                                                  DType type) {
  return create({{path, static_cast<ParameterId>(tree.parameters.size())}}, tree, type);
}

FullTensorWriter::FullTensorWriter(std::vector<WeightFile> files, const ModuleTree& tree,
                                   DType type)
    : files_(std::move(files)), tree_(&tree), type_(type) {}

Result<void> FullTensorWriter::open_file() {
  std::vector<TensorDeclaration> tensors;
  const WeightFile& file = files_[at_file_];
  for (ParameterId id = next_; id < file.end; ++id) {
    const auto& p = tree_->parameters[static_cast<std::size_t>(id)];
    auto shape = p.is_vector ? std::vector{p.rows} : std::vector{p.rows, p.columns};
    tensors.push_back({p.name, stored_type(type_), std::move(shape)});
  }
  auto made = SafetensorsWriter::create(file.path, tensors, {{"format", "pt"}});
  if (!made) return tl::unexpected(made.error());
  file_.emplace(std::move(*made));
  return {};
}

Result<void> FullTensorWriter::append_rows(std::int64_t elements) {
  const std::span<const float> rows(rows_.data(), static_cast<std::size_t>(elements));
  if (type_ == DType::fp32) return file_->append(std::as_bytes(rows));
  narrowed_.resize(rows.size());
  std::ranges::transform(rows, narrowed_.begin(), float_to_bf16);
  return file_->append(std::as_bytes(std::span(narrowed_)));
}

Result<void> FullTensorWriter::write(ParameterId parameter, const Producer& producer) {
  if (parameter != next_) throw std::logic_error("parameters must be written in their order");
  if (parameter == files_[at_file_].end) {
    if (auto done = file_->finish(); !done) return done;
    ++at_file_;
    if (auto done = open_file(); !done) return done;
  }
  ++next_;
  const auto& p = tree_->parameters[static_cast<std::size_t>(parameter)];
  const auto step = std::clamp<std::int64_t>(kPieceElements / p.columns, 1, p.rows);
  rows_.resize(static_cast<std::size_t>(step * p.columns));
  for (std::int64_t row = 0; row < p.rows; row += step) {
    const auto rows = std::min(step, p.rows - row);
    producer(row, rows, rows_.data());
    if (auto done = append_rows(rows * p.columns); !done) return done;
  }
  return {};
}

Result<void> FullTensorWriter::finish() {
  return file_->finish();
}

void copy_rows(const ParameterShard& shard, DType type, const void* data, std::int64_t first_row,
               std::int64_t rows, float* out) {
  const Region wanted{first_row, rows, 0, shard.columns};
  const Region held = region_of(shard);
  for_each_run(intersection(held, wanted), held, wanted,
               [&](std::int64_t from, std::int64_t to, std::int64_t count) {
                 if (type == DType::bf16) {
                   const auto* values = static_cast<const std::uint16_t*>(data) + from;
                   std::transform(values, values + count, out + to,
                                  [](std::uint16_t bits) { return bf16_to_float(bits); });
                 } else if (type == DType::fp64) {
                   const auto* values = static_cast<const double*>(data) + from;
                   std::transform(values, values + count, out + to,
                                  [](double value) { return static_cast<float>(value); });
                 } else {
                   std::copy_n(static_cast<const float*>(data) + from, count, out + to);
                 }
               });
}

}  // namespace foreshard::executor
