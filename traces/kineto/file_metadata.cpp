#include "traces/kineto/file_metadata.hpp"

#include <charconv>
#include <set>

#include <nlohmann/json.hpp>

#include "models/base/json_limits.hpp"
#include "traces/input/limits.hpp"

namespace foreshard::traces::kineto {
namespace {

using Json = nlohmann::json;

constexpr std::int64_t kLatestBase = 4'000'000'000'000'000'000;  // the year 2096

// Null where the text is no JSON of reasonable size.
Json parsed(std::string_view json) {
  constexpr std::size_t kLargest = std::size_t{4} << 20;
  constexpr int kDeepest = 16;
  if (json.size() > kLargest || !json_excess(json, kDeepest).empty()) return {};
  Json value = Json::parse(json.begin(), json.end(), nullptr, false);
  return value.is_discarded() ? Json() : value;
}

std::string text_of(const Json& value) {
  if (value.is_string()) return value.get<std::string>();
  return value.is_number() || value.is_boolean() ? value.dump() : std::string();
}

// A number, also where it stands as text.
std::optional<std::int64_t> integer_of(const Json& object, const char* key) {
  const auto found = object.find(key);
  if (found == object.end()) return std::nullopt;
  const std::string text = text_of(*found);
  std::int64_t value = 0;
  const auto result = std::from_chars(text.data(), text.data() + text.size(), value);
  if (result.ec != std::errc() || result.ptr != text.data() + text.size()) return std::nullopt;
  return value;
}

const std::set<std::string_view> kOtherKeys{
    "schemaVersion", "cuda_runtime_version", "cuda_driver_version",
    "cupti_version", "hip_runtime_version",  "hip_driver_version",
    "record_shapes", "with_stack",           "profile_memory",
    "with_flops",    "with_modules",         "trace_id",
    "traceName"};

}  // namespace

void FileMetadata::use(std::string_view key, std::string_view json) {
  if (key == "distributedInfo") {
    use_distributed(json);
  } else if (key == "deviceProperties") {
    use_devices(json);
  } else if (key == "baseTimeNanoseconds") {
    const Json object{{"value", parsed(json)}};
    const std::int64_t base = integer_of(object, "value").value_or(0);
    if (base >= 0 && base <= kLatestBase) base_ns_ = base;
  } else if (key == "host_name" || key == "hostname") {
    host_ = text_of(parsed(json));
  } else if (kOtherKeys.contains(key)) {
    other_[std::string(key)] = text_of(parsed(json));
  }
}

void FileMetadata::use_distributed(std::string_view json) {
  const Json info = parsed(json);
  if (!info.is_object()) return;
  const std::int64_t rank = integer_of(info, "rank").value_or(-1);
  if (rank >= 0 && rank < kMaxRanks) rank_ = static_cast<std::int32_t>(rank);
  const std::int64_t size = integer_of(info, "world_size").value_or(0);
  if (size > 0 && size <= kMaxRanks) world_size_ = static_cast<std::int32_t>(size);
}

void FileMetadata::use_devices(std::string_view json) {
  const Json devices = parsed(json);
  if (!devices.is_array()) return;
  for (const Json& device : devices) {
    if (!device.is_object()) continue;
    const auto id = integer_of(device, "id");
    const auto name = device.find("name");
    if (id && name != device.end()) devices_[*id] = text_of(*name);
  }
}

std::string FileMetadata::device(std::int64_t id) const {
  const auto found = devices_.find(id);
  if (found != devices_.end()) return found->second;
  return devices_.size() == 1 ? devices_.begin()->second : std::string();
}

}  // namespace foreshard::traces::kineto
