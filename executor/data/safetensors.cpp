#include "executor/data/safetensors.hpp"

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <utility>

#include <nlohmann/json.hpp>

#include "executor/data/safetensors_header.hpp"
#include "models/base/float_formats.hpp"
#include "models/base/input_file.hpp"
#include "models/base/json_limits.hpp"

namespace foreshard::executor {

namespace {

// The format's reference implementation refuses longer headers too.
constexpr std::uint64_t kLongestHeader = 100'000'000;
// An index nests two deep; what nests far deeper is none.
constexpr int kDeepestIndex = 16;

constexpr const char* kExpected = "weights in safetensors";

template <typename Stored, typename Convert>
void convert(const std::byte* from, std::int64_t count, float* out, Convert to_float) {
  for (std::int64_t i = 0; i < count; ++i) {
    Stored value;
    std::memcpy(&value, from + static_cast<std::size_t>(i) * sizeof(Stored), sizeof(Stored));
    out[i] = to_float(value);
  }
}

template <typename Stored>
void convert(const std::byte* from, std::int64_t count, float* out) {
  convert<Stored>(from, count, out, [](Stored value) { return static_cast<float>(value); });
}

// The file a folder stands for; several candidates are an error rather than a guess.
Result<std::string> file_in_folder(const std::string& folder) {
  namespace fs = std::filesystem;
  std::error_code error;
  for (const char* usual : {"model.safetensors.index.json", "model.safetensors"}) {
    const auto path = fs::path(folder) / usual;
    if (fs::exists(path, error)) return path.string();
  }
  auto found = files_in_folder(folder, kExpected);
  if (!found) return tl::unexpected(found.error());
  std::erase_if(*found, [](const fs::path& path) { return path.extension() != ".safetensors"; });
  if (found->size() == 1) return found->front();
  return fail(folder, "",
              found->empty() ? "contains no .safetensors file; expected model.safetensors or an "
                               "index of several files"
                             : "contains several .safetensors files; expected "
                               "model.safetensors.index.json, which lists them");
}

bool ends_with_json(const std::string& path) {
  return std::filesystem::path(path).extension() == ".json";
}

}  // namespace

std::string_view name(StoredType type) {
  constexpr std::string_view names[] = {"BOOL", "U8",  "I8",  "U16",  "I16", "U32", "I32",
                                        "U64",  "I64", "F16", "BF16", "F32", "F64"};
  return names[static_cast<int>(type)];
}

std::int64_t item_size(StoredType type) {
  constexpr std::int64_t sizes[] = {1, 1, 1, 2, 2, 4, 4, 8, 8, 2, 2, 4, 8};
  return sizes[static_cast<int>(type)];
}

StoredType stored_type(DType type) {
  switch (type) {
    case DType::bf16: return StoredType::bf16;
    case DType::fp64: return StoredType::f64;
    case DType::int32: return StoredType::i32;
    case DType::fp16: return StoredType::f16;
    case DType::fp8: return StoredType::u8;
    case DType::fp32: break;
  }
  return StoredType::f32;
}

std::string shape_text(std::span<const std::int64_t> shape) {
  std::string text = "[";
  for (const auto extent : shape) text += (text.size() > 1 ? ", " : "") + std::to_string(extent);
  return text + "]";
}

Result<SafetensorsContents> parse_safetensors(std::span<const std::byte> bytes,
                                              const std::string& file) {
  if (bytes.size() < 8) {
    return fail(file, "header",
                "the file has only " + std::to_string(bytes.size()) +
                    " bytes; expected a safetensors file");
  }
  std::uint64_t length = 0;
  for (std::size_t i = 0; i < 8; ++i) length |= std::to_integer<std::uint64_t>(bytes[i]) << (8 * i);
  if (length > kLongestHeader || length > bytes.size() - 8) {
    return fail(file, "header",
                "claims " + std::to_string(length) + " bytes in a file of " +
                    std::to_string(bytes.size()) + "; expected a complete safetensors file");
  }
  const auto data = bytes.subspan(8 + length);
  return parse_safetensors_header({reinterpret_cast<const char*>(bytes.data() + 8), length}, data,
                                  file);
}

void read_as_float(const StoredTensor& tensor, std::int64_t first, std::int64_t count, float* out) {
  const std::byte* from = tensor.data.data() + first * item_size(tensor.type);
  switch (tensor.type) {
    case StoredType::boolean:
    case StoredType::u8: return convert<std::uint8_t>(from, count, out);
    case StoredType::i8: return convert<std::int8_t>(from, count, out);
    case StoredType::u16: return convert<std::uint16_t>(from, count, out);
    case StoredType::i16: return convert<std::int16_t>(from, count, out);
    case StoredType::u32: return convert<std::uint32_t>(from, count, out);
    case StoredType::i32: return convert<std::int32_t>(from, count, out);
    case StoredType::u64: return convert<std::uint64_t>(from, count, out);
    case StoredType::i64: return convert<std::int64_t>(from, count, out);
    case StoredType::f16: return convert<std::uint16_t>(from, count, out, f16_to_float);
    case StoredType::bf16:
      return convert<std::uint16_t>(from, count, out,
                                    [](std::uint16_t bits) { return bf16_to_float(bits); });
    case StoredType::f64: return convert<double>(from, count, out);
    case StoredType::f32:
    case StoredType::kCount: break;
  }
  if (count > 0) std::memcpy(out, from, static_cast<std::size_t>(count) * sizeof(float));
}

Result<SafetensorsReader> SafetensorsReader::open(const std::string& path) {
  SafetensorsReader reader;
  reader.path_ = path;
  std::string file = path;
  std::error_code error;
  if (std::filesystem::is_directory(path, error)) {
    auto inside = file_in_folder(path);
    if (!inside) return tl::unexpected(inside.error());
    file = *inside;
  }
  auto done = ends_with_json(file) ? reader.add_index(file) : reader.add_file(file);
  if (!done) return tl::unexpected(done.error());
  return reader;
}

const StoredTensor* SafetensorsReader::find(const std::string& name) const {
  const auto found = by_name_.find(name);
  return found == by_name_.end() ? nullptr : &tensors_[found->second];
}

Result<void> SafetensorsReader::add_file(const std::string& path) {
  auto file = MappedFile::open(path, kExpected);
  if (!file) return tl::unexpected(file.error());
  auto contents = parse_safetensors(file->bytes(), path);
  if (!contents) return tl::unexpected(contents.error());
  for (auto& tensor : contents->tensors) {
    tensor.file = files_.size();
    if (const auto* other = find(tensor.name)) {
      return fail(path, tensor.name,
                  "is also in " + file_of(*other) + "; expected each tensor once");
    }
    by_name_[tensor.name] = tensors_.size();
    tensors_.push_back(std::move(tensor));
  }
  metadata_.merge(contents->metadata);
  files_.push_back(std::move(*file));
  return {};
}

Result<void> SafetensorsReader::add_index(const std::string& path) {
  auto file = MappedFile::open(path, "an index of safetensors files");
  if (!file) return tl::unexpected(file.error());
  const auto bytes = file->bytes();
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  if (const std::string excess = json_excess(text, kDeepestIndex); !excess.empty()) {
    return fail(path, "", excess + "; expected an index of safetensors files");
  }
  const auto index = nlohmann::json::parse(text, nullptr, false);
  if (index.is_discarded())
    return fail(path, "", "is not valid JSON; expected an index of safetensors files");
  if (!index.is_object() || !index.contains("weight_map") || !index["weight_map"].is_object()) {
    return fail(path, "weight_map", "is missing; expected an object of file names by tensor");
  }
  std::vector<std::string> names;
  for (const auto& [tensor, shard] : index["weight_map"].items()) {
    if (!shard.is_string()) return fail(path, tensor, "has no file; expected a file name");
    names.push_back(shard.get<std::string>());
    const std::filesystem::path plain(names.back());
    if (!plain.has_filename() || plain.has_parent_path()) {
      return fail(path, tensor, "refers to a file outside the index's folder: " + names.back());
    }
  }
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  for (const auto& shard : names) {
    const auto beside = std::filesystem::path(path).parent_path() / shard;
    if (auto done = add_file(beside.string()); !done) return done;
  }
  for (const auto& [tensor, shard] : index["weight_map"].items()) {
    const auto* found = find(tensor);
    const auto shard_name = shard.get<std::string>();
    if (found == nullptr || std::filesystem::path(file_of(*found)).filename() != shard_name) {
      return fail(path, tensor,
                  "is not in " + shard_name + "; expected it there according to the index");
    }
  }
  return {};
}

}  // namespace foreshard::executor
