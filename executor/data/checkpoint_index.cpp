#include "executor/data/checkpoint_index.hpp"

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>

#include <nlohmann/json.hpp>

#include "executor/data/checkpoint_contents.hpp"
#include "models/base/figures.hpp"
#include "models/base/json_limits.hpp"
#include "models/base/json_text.hpp"

namespace foreshard::executor {

namespace {

using nlohmann::json;
using nlohmann::ordered_json;

constexpr const char* kFormat = "foreshard-checkpoint";
constexpr int kVersion = 1;

// Reads members of a JSON object; the first one that is missing or of the wrong kind is remembered,
// so that a caller can read many and look once.
class Reader {
 public:
  explicit Reader(const json& object, std::string where = {})
      : object_(object), where_(std::move(where)) {}

  std::int64_t natural(const char* key, std::int64_t limit = kLargest) {
    const auto found = object_.find(key);
    const bool good = found != object_.end() && found->is_number_unsigned() &&
                      found->get<std::uint64_t>() <= static_cast<std::uint64_t>(limit);
    return good ? found->get<std::int64_t>() : missing(key, std::int64_t{0});
  }

  int small(const char* key) { return static_cast<int>(natural(key, 1 << 24)); }

  std::uint64_t bits(const char* key) {
    const auto found = object_.find(key);
    const bool good = found != object_.end() && found->is_number_unsigned();
    return good ? found->get<std::uint64_t>() : missing(key, std::uint64_t{0});
  }

  bool flag(const char* key) {
    const auto found = object_.find(key);
    const bool good = found != object_.end() && found->is_boolean();
    return good ? found->get<bool>() : missing(key, false);
  }

  std::string text(const char* key) {
    const auto found = object_.find(key);
    const bool good = found != object_.end() && found->is_string();
    return good ? found->get<std::string>() : missing(key, std::string());
  }

  // A list of two naturals.
  std::pair<std::int64_t, std::int64_t> pair(const char* key) {
    const auto found = object_.find(key);
    const bool good =
        found != object_.end() && found->is_array() && found->size() == 2 &&
        (*found)[0].is_number_unsigned() && (*found)[1].is_number_unsigned() &&
        std::max((*found)[0].get<std::uint64_t>(), (*found)[1].get<std::uint64_t>()) <= kLargest;
    if (!good) return missing(key, std::pair<std::int64_t, std::int64_t>());
    return {(*found)[0].get<std::int64_t>(), (*found)[1].get<std::int64_t>()};
  }

  const json& member(const char* key, json::value_t kind) {
    static const json kNothing = json::array();
    const auto found = object_.find(key);
    if (found != object_.end() && found->type() == kind) return *found;
    return missing(key, std::cref(kNothing));
  }

  // The path of the first bad member; nothing when all were good.
  const std::optional<std::string>& bad() const { return bad_; }

 private:
  // Far from overflow, whatever is added or multiplied.
  static constexpr std::int64_t kLargest = std::int64_t{1} << 48;

  template <typename T>
  T missing(const char* key, T instead) {
    if (!bad_) bad_ = where_.empty() ? key : where_ + "." + key;
    return instead;
  }

  const json& object_;
  std::string where_;
  std::optional<std::string> bad_;
};

// Discarded where it is no JSON, or nests deeper or holds more than an index does: it has a dozen values
// for each part of a parameter.
json parsed(std::string_view text) {
  constexpr int kDeepest = 16;
  constexpr std::size_t kMaxValues = std::size_t{1} << 24;
  if (!json_excess(text, kDeepest, kMaxValues).empty()) return json(json::value_t::discarded);
  return json::parse(text, nullptr, false);
}

bool has_format(const json& object) {
  if (!object.is_object()) return false;
  const auto format = object.find("format");
  return format != object.end() && format->is_string() && *format == kFormat;
}

std::optional<StoredType> value_type_named(const std::string& text) {
  for (const auto type : {StoredType::f32, StoredType::bf16, StoredType::f64, StoredType::i32}) {
    if (name(type) == text) return type;
  }
  return std::nullopt;
}

ordered_json parameter_json(const CheckpointParameter& p) {
  ordered_json values = ordered_json::object();
  for (const auto& [role, type] : p.values) values[role] = std::string(name(type));
  ordered_json parts = ordered_json::array();
  for (const auto& [file, region] : p.parts) {
    parts.push_back({{"file", file},
                     {"rows", {region.first_row, region.rows}},
                     {"columns", {region.first_column, region.columns}}});
  }
  return {{"name", p.name},
          {"shape", {p.rows, p.columns}},
          {"values", std::move(values)},
          {"parts", std::move(parts)}};
}

Result<CheckpointParameter> parse_parameter(const json& entry, const std::string& file) {
  if (!entry.is_object()) return fail(file, "parameters", "has an entry that is not an object");
  Reader reader(entry, "parameters");
  CheckpointParameter p;
  p.name = reader.text("name");
  std::tie(p.rows, p.columns) = reader.pair("shape");
  for (const auto& [role, type] : reader.member("values", json::value_t::object).items()) {
    const auto known = value_type_named(type.is_string() ? type.get<std::string>() : "");
    if (!known) return fail(file, p.name, "has a value '" + role + "' of an unknown dtype");
    p.values[role] = *known;
  }
  for (const auto& part : reader.member("parts", json::value_t::array)) {
    if (!part.is_object()) return fail(file, p.name, "has a part that is not an object");
    Reader of_part(part, "parts");
    CheckpointPart read;
    read.file = of_part.small("file");
    std::tie(read.region.first_row, read.region.rows) = of_part.pair("rows");
    std::tie(read.region.first_column, read.region.columns) = of_part.pair("columns");
    if (of_part.bad()) return fail(file, p.name, *of_part.bad() + " is missing or damaged");
    p.parts.push_back(read);
  }
  if (reader.bad()) return fail(file, *reader.bad(), "is missing or damaged");
  return p;
}

Result<std::vector<CheckpointParameter>> parse_parameters(const json& list,
                                                          const std::string& file) {
  std::vector<CheckpointParameter> parameters;
  for (const auto& entry : list) {
    auto parameter = parse_parameter(entry, file);
    if (!parameter) return tl::unexpected(parameter.error());
    parameters.push_back(std::move(*parameter));
  }
  return parameters;
}

bool is_covered(const CheckpointParameter& p) {
  std::vector<Region> regions;
  for (const auto& part : p.parts) regions.push_back(part.region);
  return cover_once(std::move(regions), p.rows, p.columns);
}

}  // namespace

std::string to_json(const CheckpointIndex& index) {
  const RunState& state = index.state;
  ordered_json parameters = ordered_json::array();
  for (const auto& parameter : index.parameters) parameters.push_back(parameter_json(parameter));
  ordered_json object = {{"format", kFormat},
                         {"version", kVersion},
                         {"step", state.step},
                         {"total_steps", state.total_steps},
                         {"seed", state.seed},
                         {"shuffled", state.is_shuffled},
                         {"skipped_steps", state.skipped},
                         {"samples", state.samples},
                         {"ranks", state.ranks},
                         {"nodes", state.nodes},
                         {"data", state.data.path},
                         {"data_tokens", state.data.tokens},
                         {"data_fingerprint", state.data.fingerprint},
                         {"data_type", state.data.type},
                         {"plan", state.plan},
                         {"model", state.model}};
  if (index.format != CheckpointFormat::native) object["tensors"] = name(index.format);
  object["files"] = index.files;
  object["parameters"] = std::move(parameters);
  return json_text(object, 1) + "\n";
}

Result<CheckpointIndex> parse_checkpoint_index(std::span<const std::byte> text,
                                               const std::string& file) {
  const auto object = parsed({reinterpret_cast<const char*>(text.data()), text.size()});
  if (!has_format(object)) {
    return fail(file, "format", "is not \"foreshard-checkpoint\"; expected a checkpoint index");
  }
  Reader reader(object);
  const auto version = reader.natural("version");
  if (version != kVersion) {
    return fail(file, "version",
                "is " + std::to_string(version) + "; expected " + std::to_string(kVersion));
  }
  CheckpointIndex index;
  index.state.step = reader.natural("step");
  index.state.total_steps = reader.natural("total_steps");
  index.state.seed = reader.bits("seed");
  index.state.samples = reader.natural("samples");
  index.state.ranks = reader.small("ranks");
  index.state.nodes = reader.small("nodes");
  index.state.data.path = reader.text("data");
  if (object.contains("shuffled")) {  // not in those of before
    index.state.is_shuffled = reader.flag("shuffled");
    index.state.skipped = reader.natural("skipped_steps");
  }
  if (object.contains("data_tokens")) {
    index.state.data.tokens = reader.natural("data_tokens");
    index.state.data.fingerprint = reader.bits("data_fingerprint");
    index.state.data.type = reader.text("data_type");
  }
  index.state.plan = reader.text("plan");
  index.state.model = reader.text("model");
  index.files = reader.small("files");
  if (object.contains("tensors")) {
    const std::string named = reader.text("tensors");
    const auto format = std::ranges::find(kCheckpointFormats, named,
                                          [](CheckpointFormat known) { return name(known); });
    if (format == kCheckpointFormats.end()) {
      return fail(file, "tensors", "is " + named + "; expected a format that is known here");
    }
    index.format = *format;
  }
  const auto& list = reader.member("parameters", json::value_t::array);
  if (reader.bad()) return fail(file, *reader.bad(), "is missing or damaged");
  auto parameters = parse_parameters(list, file);
  if (!parameters) return tl::unexpected(parameters.error());
  index.parameters = std::move(*parameters);
  for (const auto& p : index.parameters) {
    if (!is_covered(p)) return fail(file, p.name, "is not covered once by its parts");
    for (const auto& part : p.parts) {
      if (part.file >= index.files) return fail(file, p.name, "has a part in an unknown file");
    }
  }
  return index;
}

bool is_checkpoint(const std::string& folder) {
  const auto file = MappedFile::open(index_path(folder), kCheckpoint);
  if (!file) return false;
  const auto bytes = file->bytes();
  return has_format(parsed({reinterpret_cast<const char*>(bytes.data()), bytes.size()}));
}

std::string index_path(const std::string& folder) {
  return folder + "/index.json";
}

std::string shard_path(const std::string& folder, int shard, int shards) {
  return folder + formatted("/shard-%05d-of-%05d.safetensors", shard, shards);
}

std::string value_name(const std::string& role, const std::string& parameter) {
  return role + "/" + parameter;
}

std::string parts_json(const std::map<std::string, CheckpointParameter>& parameters) {
  ordered_json list = ordered_json::array();
  for (const auto& [name, parameter] : parameters) list.push_back(parameter_json(parameter));
  return list.dump();
}

Result<std::vector<CheckpointParameter>> parse_parts(const std::string& text,
                                                     const std::string& file) {
  const auto list = parsed(text);
  if (!list.is_array()) return fail(file, kPartsKey, "is damaged; expected a list of parts");
  return parse_parameters(list, file);
}

}  // namespace foreshard::executor
