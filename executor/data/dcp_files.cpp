#include "executor/data/dcp_files.hpp"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <map>
#include <optional>
#include <utility>

#include "executor/data/dcp_metadata.hpp"
#include "executor/data/torch_archive.hpp"
#include "executor/data/torch_options.hpp"
#include "models/base/atomic_file.hpp"
#include "models/base/input_file.hpp"

namespace foreshard::executor {
namespace {

namespace fs = std::filesystem;

constexpr const char* kStep = "step";

std::string part_path(const std::string& folder, int rank) {
  return folder + "/__" + std::to_string(rank) + ".metadata";
}

// A file of archives, one behind another.
class ArchiveFile {
 public:
  static Result<ArchiveFile> create(const std::string& folder, std::string name) {
    auto file = AtomicFile::create(folder + "/" + name);
    if (!file) return tl::unexpected(file.error());
    file->pass_by_cache();
    return ArchiveFile(std::move(*file), std::move(name));
  }

  Result<DcpPlace> add_tensor(StoredType type, std::span<const std::int64_t> shape,
                              std::span<const std::byte> data) {
    const TensorArchive archive = archive_of_tensor(type, shape, data);
    const std::int64_t begin = at_;
    for (const auto part :
         {std::as_bytes(std::span(archive.head)), data, std::as_bytes(std::span(archive.tail))}) {
      if (auto done = write(part); !done) return tl::unexpected(done.error());
    }
    return DcpPlace{name_, begin, at_ - begin};
  }

  Result<DcpPlace> add_value(std::string_view pickle) {
    const std::string archive = archive_of_value(pickle);
    const std::int64_t begin = at_;
    if (auto done = write(std::as_bytes(std::span(archive))); !done) {
      return tl::unexpected(done.error());
    }
    return DcpPlace{name_, begin, at_ - begin};
  }

  Result<void> finish() { return file_.commit(); }

 private:
  ArchiveFile(AtomicFile file, std::string name) : file_(std::move(file)), name_(std::move(name)) {}

  Result<void> write(std::span<const std::byte> bytes) {
    at_ += std::ssize(bytes);
    return file_.write(bytes);
  }

  AtomicFile file_;
  std::string name_;
  std::int64_t at_ = 0;
};

// Rows of a shard that lie one behind another in the stored order.
struct RowRun {
  std::int64_t first = 0;             // in that order
  std::vector<std::int64_t> sources;  // rows of the shard
};

std::vector<RowRun> row_runs(const Region& region, std::int64_t head) {
  std::vector<std::pair<std::int64_t, std::int64_t>> rows;  // stored, of the shard
  for (std::int64_t row = 0; row < region.rows; ++row) {
    rows.emplace_back(paired_row(region.first_row + row, head), row);
  }
  std::ranges::sort(rows);
  std::vector<RowRun> runs;
  for (const auto& [stored, source] : rows) {
    const bool goes_on =
        !runs.empty() && runs.back().first + std::ssize(runs.back().sources) == stored;
    if (!goes_on) runs.push_back({stored, {}});
    runs.back().sources.push_back(source);
  }
  return runs;
}

std::vector<std::int64_t> extents(bool is_vector, std::int64_t rows, std::int64_t columns) {
  return is_vector ? std::vector{rows} : std::vector{rows, columns};
}

Result<void> add_chunk(ArchiveFile& file, DcpTensor& tensor, const Region& region,
                       std::span<const std::byte> data) {
  const bool is_vector = tensor.shape.size() == 1;
  DcpChunk chunk{extents(is_vector, region.first_row, region.first_column),
                 extents(is_vector, region.rows, region.columns),
                 {}};
  auto place = file.add_tensor(tensor.type, chunk.sizes, data);
  if (!place) return tl::unexpected(place.error());
  chunk.place = std::move(*place);
  tensor.chunks.push_back(std::move(chunk));
  return {};
}

Result<void> add_shard(ArchiveFile& file, DcpTensor& tensor, const CheckpointValue& value,
                       std::int64_t head) {
  const Region region = region_of(value.shard);
  if (head == 0) return add_chunk(file, tensor, region, value.own_bytes());
  const auto row_bytes = static_cast<std::size_t>(region.columns * item_size(value.type));
  std::vector<std::byte> rows;
  for (const RowRun& run : row_runs(region, head)) {
    rows.clear();
    for (const std::int64_t source : run.sources) {
      const auto row = value.bytes.subspan(static_cast<std::size_t>(source) * row_bytes, row_bytes);
      rows.insert(rows.end(), row.begin(), row.end());
    }
    const Region stored{run.first, std::ssize(run.sources), region.first_column, region.columns};
    if (auto done = add_chunk(file, tensor, stored, rows); !done) return done;
  }
  return {};
}

// The numbers of the ranks that have left their part, in order.
std::vector<int> parts_in(const std::string& folder) {
  std::vector<int> ranks;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error)) {
    const auto name = entry->path().filename().string();
    int rank = 0;
    const auto* const stop = name.data() + name.size();
    if (!name.starts_with("__") || !name.ends_with(".metadata")) continue;
    if (std::from_chars(name.data() + 2, stop, rank).ec == std::errc()) ranks.push_back(rank);
  }
  std::ranges::sort(ranks);
  return ranks;
}

Result<DcpMetadata> read_metadata(const std::string& path) {
  const auto file = MappedFile::open(path, "the metadata of a distributed checkpoint");
  if (!file) return tl::unexpected(file.error());
  return parse_dcp_metadata(file->bytes(), path);
}

void add(DcpMetadata& all, DcpMetadata part) {
  for (auto& [name, tensor] : part.tensors) {
    auto& chunks = all.tensors.try_emplace(name, DcpTensor{tensor.type, tensor.shape, {}})
                       .first->second.chunks;
    std::ranges::move(tensor.chunks, std::back_inserter(chunks));
  }
}

// The keys of all names of parameters and states.
void add_paths(DcpMetadata& metadata, StateNames names) {
  for (const auto& [name, tensor] : metadata.tensors) {
    if (const auto known = known_state(name)) {
      metadata.paths[name] = state_key(names, known->parameter, known->role).path;
    }
  }
}

// A tensor of one number.
std::int64_t number_in(const ArchivedTensor& tensor) {
  if (tensor.type == StoredType::i64) {
    std::int64_t value = 0;
    std::memcpy(&value, tensor.data.data(), sizeof value);
    return value;
  }
  StoredTensor stored;
  stored.type = tensor.type;
  stored.elements = 1;
  stored.data = tensor.data;
  float value = 0;
  read_as_float(stored, 0, 1, &value);
  constexpr float kLatest = 1e15F;
  return value >= 0 && value < kLatest ? static_cast<std::int64_t>(value) : 0;
}

// Finds archives in the files of a folder, which stay open.
class Archives {
 public:
  explicit Archives(const std::string& folder) : folder_(folder) {}

  Result<ArchivedTensor> tensor(const std::string& name, const DcpPlace& place) {
    auto& file = files_[place.file];
    const std::string path = folder_ + "/" + place.file;
    if (file.path().empty()) {
      auto opened = MappedFile::open(path, "a file of a distributed checkpoint");
      if (!opened) return tl::unexpected(opened.error());
      file = std::move(*opened);
    }
    const auto bytes = file.bytes();
    const auto offset = static_cast<std::size_t>(place.offset),
               size = static_cast<std::size_t>(place.bytes);
    if (offset > bytes.size() || size > bytes.size() - offset) {
      return fail(path, name,
                  "should lie in bytes " + std::to_string(offset) + " to " +
                      std::to_string(place.offset + place.bytes) + " of " +
                      std::to_string(bytes.size()) + "; expected a complete file");
    }
    return read_archived_tensor(bytes.subspan(offset, size), path, name);
  }

  void give_to(CheckpointContents& contents) {
    for (auto& [name, file] : files_) contents.files.push_back(std::move(file));
  }

 private:
  const std::string folder_;
  std::map<std::string, MappedFile> files_;
};

Result<StoredValue> find_value(Archives& archives, const std::string& file, const std::string& name,
                               const DcpTensor& tensor) {
  StoredValue value{tensor.type, {}};
  std::vector<Region> regions;
  for (const DcpChunk& chunk : tensor.chunks) {
    const auto stored = archives.tensor(name, chunk.place);
    if (!stored) return tl::unexpected(stored.error());
    if (stored->shape != chunk.sizes || stored->type != tensor.type) {
      return fail(file, name,
                  "has shape " + shape_text(stored->shape) + " in " + chunk.place.file +
                      "; expected " + shape_text(chunk.sizes));
    }
    const bool is_vector = chunk.sizes.size() == 1;
    const Region region{chunk.offsets[0], chunk.sizes[0], is_vector ? 0 : chunk.offsets[1],
                        is_vector ? 1 : chunk.sizes[1]};
    regions.push_back(region);
    value.parts.push_back({region, stored->data.data()});
  }
  const std::int64_t columns = tensor.shape.size() == 1 ? 1 : tensor.shape[1];
  if (!cover_once(std::move(regions), tensor.shape[0], columns)) {
    return fail(file, name, "is not covered once by its chunks");
  }
  return value;
}

}  // namespace

std::string dcp_metadata_path(const std::string& folder) {
  return folder + "/.metadata";
}

bool is_dcp(const std::string& folder) {
  std::error_code error;
  return fs::exists(dcp_metadata_path(folder), error);
}

Result<void> DcpFiles::write_shard(const std::string& folder, const ShardWriting& shard) const {
  auto file = ArchiveFile::create(folder, "__" + std::to_string(shard.index) + "_0.distcp");
  if (!file) return tl::unexpected(file.error());
  DcpMetadata metadata;
  for (const CheckpointValue& value : shard.values) {
    const auto& p = shard.tree.parameters[static_cast<std::size_t>(value.shard.parameter)];
    if (value.shard.local == 0) continue;
    const std::string key = state_key(names_, p.name, executor::name(value.role)).name;
    DcpTensor& tensor = metadata.tensors[key];
    tensor.type = stored_type(value.type);
    tensor.shape = extents(p.is_vector, p.rows, p.columns);
    auto done = add_shard(*file, tensor, value, rows_in_pairs(names_, p.name, shard.model));
    if (!done) return done;
  }
  if (auto done = file->finish(); !done) return done;
  return write_atomically(part_path(folder, shard.index), to_pickle(metadata));
}

Result<void> DcpFiles::complete(const std::string& folder, CheckpointIndex& index) const {
  const std::vector<int> ranks = parts_in(folder);
  if (ranks.empty()) {
    return fail(folder, "", "contains no shard; expected a file from every writer");
  }
  DcpMetadata all;
  for (const int rank : ranks) {
    auto part = read_metadata(part_path(folder, rank));
    if (!part) return tl::unexpected(part.error());
    add(all, std::move(*part));
  }
  add_paths(all, names_);
  auto options = torch_options(names_, index.state, all);
  if (!options) return tl::unexpected(options.error());
  auto file = ArchiveFile::create(folder, "__0_1.distcp");
  if (!file) return tl::unexpected(file.error());
  for (const TorchOption& option : *options) {
    auto place = option.step ? file->add_tensor(StoredType::f32, {},
                                                std::as_bytes(std::span(&*option.step, 1)))
                             : file->add_value(option.pickle);
    if (!place) return tl::unexpected(place.error());
    all.paths[option.key.name] = option.key.path;
    if (option.step) {
      all.tensors[option.key.name] = {StoredType::f32, {}, {{{}, {}, std::move(*place)}}};
    } else {
      all.values[option.key.name] = std::move(*place);
    }
  }
  if (auto done = file->finish(); !done) return done;
  if (auto done = write_atomically(dcp_metadata_path(folder), to_pickle(all)); !done) return done;
  std::error_code ignored;
  for (const int rank : ranks) fs::remove(part_path(folder, rank), ignored);
  return {};
}

Result<void> DcpFiles::find(const std::string& folder, const CheckpointIndex&,
                            CheckpointContents& contents) const {
  const std::string path = dcp_metadata_path(folder);
  const auto metadata = read_metadata(path);
  if (!metadata) return tl::unexpected(metadata.error());
  Archives archives(folder);
  for (const auto& [name, tensor] : metadata->tensors) {
    const auto known = known_state(name);
    if (!known) continue;
    if (known->names == StateNames::torchtitan) contents.names = StateNames::torchtitan;
    if (known->role == kStep) {
      if (contents.has_run || !tensor.shape.empty() || tensor.chunks.size() != 1) continue;
      const auto step = archives.tensor(name, tensor.chunks[0].place);
      if (!step) return tl::unexpected(step.error());
      if (step->data.size() == static_cast<std::size_t>(item_size(step->type))) {
        contents.state.step = std::max(contents.state.step, number_in(*step));
      }
      continue;
    }
    const std::size_t dimensions = tensor.shape.size();
    if (dimensions != 1 && dimensions != 2) {
      return fail(path, name, "has shape " + shape_text(tensor.shape) + "; expected a matrix");
    }
    StoredParameter& parameter = contents.parameters[known->parameter];
    const std::int64_t columns = dimensions == 1 ? 1 : tensor.shape[1];
    const bool is_first = parameter.values.empty();
    if (!is_first && (parameter.rows != tensor.shape[0] || parameter.columns != columns)) {
      return fail(path, name,
                  "has shape " + shape_text(tensor.shape) + "; expected " +
                      shape_text(std::vector{parameter.rows, parameter.columns}) +
                      " as of the parameter's other values");
    }
    if (parameter.values.contains(known->role)) {
      return fail(path, name,
                  "is a second " + known->role + " of " + known->parameter +
                      "; expected one model and its optimizer");
    }
    auto value = find_value(archives, path, name, tensor);
    if (!value) return tl::unexpected(value.error());
    parameter.rows = tensor.shape[0];
    parameter.columns = columns;
    parameter.values[known->role] = std::move(*value);
  }
  archives.give_to(contents);
  return {};
}

}  // namespace foreshard::executor
