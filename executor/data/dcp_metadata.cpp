#include "executor/data/dcp_metadata.hpp"

#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "executor/data/torch_archive.hpp"
#include "executor/data/torch_pickle.hpp"
#include "traces/snapshot/pickle/pickle.hpp"

namespace foreshard::executor {
namespace {

using traces::PickleId;
using traces::PickleObjects;
using traces::PickleType;
using traces::PickleValues;

constexpr std::string_view kModule = "torch.distributed.checkpoint.metadata";
constexpr std::string_view kFileModule = "torch.distributed.checkpoint.filesystem";

class MetadataWriter {
 public:
  std::string write(const DcpMetadata& metadata) {
    begin_object(kModule, "Metadata");
    key("state_dict_metadata");
    pickle_.empty_dict(), pickle_.mark();
    for (const auto& [name, tensor] : metadata.tensors) pickle_.text(name), write(tensor);
    for (const auto& [name, place] : metadata.values) {
      pickle_.text(name);
      begin_object(kModule, "BytesStorageMetadata");
      end_object();
    }
    pickle_.set_items();
    key("planner_data");
    pickle_.empty_dict(), pickle_.mark();
    for (const auto& [name, path] : metadata.paths) pickle_.text(name), write_path(path);
    pickle_.set_items();
    key("storage_data");
    pickle_.empty_dict(), pickle_.mark();
    for (const auto& [name, tensor] : metadata.tensors) {
      for (std::size_t c = 0; c < tensor.chunks.size(); ++c) {
        write_place(name, &tensor.chunks[c].offsets, static_cast<std::int64_t>(c),
                    tensor.chunks[c].place);
      }
    }
    for (const auto& [name, place] : metadata.values) write_place(name, nullptr, 0, place);
    pickle_.set_items();
    key("storage_meta");
    begin_object(kModule, "StorageMeta");
    for (const auto* absent : {"checkpoint_id", "save_id", "load_id"}) key(absent), pickle_.none();
    key("modules"), pickle_.empty_list();
    end_object();
    key("version"), pickle_.text("1.0.0");
    end_object();
    return pickle_.finish();
  }

 private:
  void key(std::string_view name) { pickle_.text(name); }

  // An object of a dataclass, and the keys and values of its fields until its end.
  void begin_object(std::string_view module, std::string_view name) {
    pickle_.global(module, name);
    pickle_.empty_tuple(), pickle_.new_object();
    pickle_.empty_dict(), pickle_.mark();
  }
  void end_object() { pickle_.set_items(), pickle_.set_state(); }

  void write_size(const std::vector<std::int64_t>& size) {
    pickle_.global("torch", "Size");
    pickle_.sizes(size);
    pickle_.tuple(1), pickle_.call();
  }

  void write(const DcpTensor& tensor) {
    begin_object(kModule, "TensorStorageMetadata");
    key("properties"), write_properties(tensor.type);
    key("size"), write_size(tensor.shape);
    key("chunks"), pickle_.empty_list(), pickle_.mark();
    for (const DcpChunk& chunk : tensor.chunks) {
      begin_object(kModule, "ChunkStorageMetadata");
      key("offsets"), write_size(chunk.offsets);
      key("sizes"), write_size(chunk.sizes);
      end_object();
    }
    pickle_.append();
    end_object();
  }

  void write_properties(StoredType type) {
    pickle_.global(kModule, "TensorProperties");
    pickle_.empty_tuple(), pickle_.new_object();
    pickle_.mark();
    pickle_.global("torch", torch_name(type).value_or("float32"));
    pickle_.global("torch.serialization", "_get_layout");
    pickle_.text("torch.strided"), pickle_.tuple(1), pickle_.call();
    pickle_.boolean(false);  // requires_grad
    pickle_.global(kModule, "_MEM_FORMAT_ENCODING");
    pickle_.integer(0), pickle_.tuple(1), pickle_.call();  // contiguous
    pickle_.boolean(false);                                // pin_memory
    pickle_.tuple(), pickle_.set_state();
  }

  void write_path(const std::vector<std::string>& path) {
    pickle_.mark();
    for (const std::string& part : path) {
      const bool is_number = part.find_first_not_of("0123456789") == part.npos;
      is_number ? pickle_.integer(std::stoll(part)) : pickle_.text(part);
    }
    pickle_.tuple();
  }

  void write_place(const std::string& name, const std::vector<std::int64_t>* offsets,
                   std::int64_t index, const DcpPlace& place) {
    begin_object(kModule, "MetadataIndex");
    key("fqn"), pickle_.text(name);
    key("offset"), offsets != nullptr ? write_size(*offsets) : pickle_.none();
    key("index"), offsets != nullptr ? pickle_.integer(index) : pickle_.none();
    end_object();
    begin_object(kFileModule, "_StorageInfo");
    key("relative_path"), pickle_.text(place.file);
    key("offset"), pickle_.integer(place.offset);
    key("length"), pickle_.integer(place.bytes);
    end_object();
  }

  TorchPickle pickle_;
};

class MetadataReader {
 public:
  MetadataReader(const PickleValues& values, const std::string& file)
      : values_(values), file_(file) {}

  Result<DcpMetadata> read(PickleId root) {
    const PickleId fields = state_of(root, kModule, "Metadata");
    const PickleId tensors = values_.find(fields, "state_dict_metadata");
    const PickleId places = values_.find(fields, "storage_data");
    if (!values_.is(tensors, PickleType::dict) || !values_.is(places, PickleType::dict)) {
      return fail(file_, "",
                  "describes no checkpoint; expected state_dict_metadata and storage_data of "
                  "torch.distributed.checkpoint");
    }
    for (const auto& entry : values_.entries(tensors)) {
      if (!values_.is(entry.key, PickleType::text)) return wrong("a name", "that is no text");
      const std::string name(values_.text(entry.key));
      if (!class_is(entry.value, kModule, "TensorStorageMetadata")) continue;
      if (auto ok = read_tensor(name, entry.value); !ok) return tl::unexpected(ok.error());
    }
    for (const auto& entry : values_.entries(places)) {
      if (auto ok = read_place(entry.key, entry.value); !ok) return tl::unexpected(ok.error());
    }
    for (const auto& [name, tensor] : found_.tensors) {
      for (const DcpChunk& chunk : tensor.chunks) {
        if (chunk.place.file.empty()) return wrong(name, "has a chunk without a place in a file");
      }
    }
    return std::move(found_);
  }

 private:
  tl::unexpected<Error> wrong(const std::string& name, const std::string& problem) const {
    return fail(file_, name, problem + "; expected the metadata of a distributed checkpoint");
  }

  // What the object is called and given; nothing of other values.
  std::vector<PickleId> object(PickleId id) const {
    std::vector<PickleId> entries;
    if (!values_.is(id, PickleType::object) || values_.count(id) > 8) return entries;
    for (const auto& entry : values_.entries(id)) entries.push_back(entry.value);
    return entries;
  }

  bool class_is(PickleId id, std::string_view module, std::string_view name) const {
    const auto entries = object(id);
    return !entries.empty() && values_.is(entries[0], PickleType::global) &&
           values_.text(entries[0]) == std::string(module) + " " + std::string(name);
  }

  PickleId state_of(PickleId id, std::string_view module, std::string_view name) const {
    const auto entries = object(id);
    return class_is(id, module, name) && entries.size() == 3 ? entries[2] : PickleValues::kMissing;
  }

  // Of torch.Size((2, 3)).
  std::optional<std::vector<std::int64_t>> size(PickleId id) const {
    constexpr std::int64_t kLargest = std::int64_t{1} << 48;
    const auto entries = object(id);
    if (entries.size() != 2 || !class_is(id, "torch", "Size")) return std::nullopt;
    if (!values_.is(entries[1], PickleType::tuple) || values_.count(entries[1]) != 1) {
      return std::nullopt;
    }
    const PickleId list = (*values_.entries(entries[1]).begin()).value;
    if (!values_.is(list, PickleType::tuple) || values_.count(list) > 64) return std::nullopt;
    std::vector<std::int64_t> sizes;
    for (const auto& entry : values_.entries(list)) {
      if (!values_.is(entry.value, PickleType::integer)) return std::nullopt;
      sizes.push_back(values_.integer(entry.value));
      if (sizes.back() < 0 || sizes.back() > kLargest) return std::nullopt;
    }
    return sizes;
  }

  std::optional<StoredType> type(PickleId properties) const {
    const PickleId fields = state_of(properties, kModule, "TensorProperties");
    if (!values_.is(fields, PickleType::tuple) || values_.count(fields) == 0) return std::nullopt;
    const PickleId dtype = (*values_.entries(fields).begin()).value;
    constexpr std::string_view kTorch = "torch ";
    if (!values_.is(dtype, PickleType::global) || !values_.text(dtype).starts_with(kTorch)) {
      return std::nullopt;
    }
    return torch_type_named(values_.text(dtype).substr(kTorch.size()));
  }

  Result<void> read_tensor(const std::string& name, PickleId id) {
    const PickleId fields = state_of(id, kModule, "TensorStorageMetadata");
    const auto shape = size(values_.find(fields, "size"));
    const auto chunks = values_.find(fields, "chunks");
    if (!shape || !values_.is(chunks, PickleType::list)) return wrong(name, "has no shape");
    const auto stored = type(values_.find(fields, "properties"));
    if (!stored) {
      left_out_.insert(name);
      return {};
    }
    DcpTensor tensor{*stored, *shape, {}};
    for (const auto& entry : values_.entries(chunks)) {
      const PickleId chunk = state_of(entry.value, kModule, "ChunkStorageMetadata");
      auto offsets = size(values_.find(chunk, "offsets")),
           sizes = size(values_.find(chunk, "sizes"));
      if (!offsets || !sizes || offsets->size() != shape->size() ||
          sizes->size() != shape->size()) {
        return wrong(name, "has a chunk that does not fit its shape");
      }
      for (std::size_t d = 0; d < shape->size(); ++d) {
        if ((*offsets)[d] + (*sizes)[d] <= (*shape)[d]) continue;
        return wrong(name, "has a chunk that does not fit its shape");
      }
      const auto number = tensor.chunks.size();
      chunks_[{name, *offsets}] = number;
      tensor.chunks.push_back({std::move(*offsets), std::move(*sizes), {}});
    }
    if (!found_.tensors.emplace(name, std::move(tensor)).second)
      return wrong(name, "is there twice");
    return {};
  }

  Result<void> read_place(PickleId key, PickleId value) {
    const PickleId index = state_of(key, kModule, "MetadataIndex");
    const PickleId name_id = values_.find(index, "fqn");
    if (!values_.is(name_id, PickleType::text)) return wrong("storage_data", "has no name");
    const std::string name(values_.text(name_id));
    const PickleId info = state_of(value, kFileModule, "_StorageInfo");
    const PickleId path = values_.find(info, "relative_path"),
                   offset = values_.find(info, "offset"), length = values_.find(info, "length");
    if (!values_.is(path, PickleType::text) || !values_.is(offset, PickleType::integer) ||
        !values_.is(length, PickleType::integer)) {
      return wrong(name, "has no place in a file");
    }
    if (values_.type(values_.find(info, "transform_descriptors")) != PickleType::none) {
      return fail(file_, name,
                  "is stored by an extension (transform_descriptors); expected it as torch.save "
                  "writes it");
    }
    DcpPlace place{std::string(values_.text(path)), values_.integer(offset),
                   values_.integer(length)};
    if (place.file.empty() || place.file.find('/') != std::string::npos || place.offset < 0 ||
        place.bytes < 0) {
      return wrong(name, "has no place in a file of this folder");
    }
    const PickleId at = values_.find(index, "offset");
    if (values_.type(at) == PickleType::none) {
      found_.values[name] = std::move(place);
      return {};
    }
    if (left_out_.contains(name)) return {};
    const auto offsets = size(at);
    const auto chunk = offsets ? chunks_.find({name, *offsets}) : chunks_.end();
    if (chunk == chunks_.end()) return wrong(name, "has a place for a chunk that it has not");
    found_.tensors[name].chunks[chunk->second].place = std::move(place);
    return {};
  }

  const PickleValues& values_;
  const std::string& file_;
  DcpMetadata found_;
  std::set<std::string> left_out_;
  std::map<std::pair<std::string, std::vector<std::int64_t>>, std::size_t> chunks_;
};

}  // namespace

std::string to_pickle(const DcpMetadata& metadata) {
  return MetadataWriter().write(metadata);
}

Result<DcpMetadata> parse_dcp_metadata(std::span<const std::byte> bytes, const std::string& file) {
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  const auto pickle = traces::read_pickle(text, file, {}, PickleObjects::named);
  if (!pickle) return tl::unexpected(pickle.error());
  if (pickle->damage) {
    return fail(file, "byte " + std::to_string(pickle->damage->byte), pickle->damage->problem);
  }
  return MetadataReader(pickle->values, file).read(pickle->root);
}

}  // namespace foreshard::executor
