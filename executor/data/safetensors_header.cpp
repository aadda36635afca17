#include "executor/data/safetensors_header.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <optional>
#include <set>
#include <utility>

#include <nlohmann/json.hpp>

namespace foreshard::executor {

namespace {

using nlohmann::json;

// Thrown inside the JSON parser's callback only, to leave it.
struct HeaderProblem {
  std::string field;
  std::string message;
};

// A header nests three deep: the file's object, a tensor's object, its two arrays.
constexpr int kDeepest = 3;

Result<json> parse_json(std::string_view header, const std::string& file) {
  std::array<std::set<std::string>, kDeepest + 1> keys;  // seen in the open object of each depth
  const auto check = [&](int depth, json::parse_event_t event, const json& parsed) {
    const auto level = static_cast<std::size_t>(depth);
    const bool opens =
        event == json::parse_event_t::object_start || event == json::parse_event_t::array_start;
    if (opens && depth >= kDeepest) {
      throw HeaderProblem{"header", "is nested too deeply; expected tensors and their arrays"};
    }
    if (event == json::parse_event_t::object_start) keys[level + 1].clear();
    if (event == json::parse_event_t::key) {
      const auto key = parsed.get<std::string>();
      if (!keys[level].insert(key).second) {
        throw HeaderProblem{key, "appears twice in the header; expected unique names"};
      }
    }
    return true;
  };
  try {
    return json::parse(header.begin(), header.end(), check);
  } catch (const HeaderProblem& problem) {
    return fail(file, problem.field, problem.message);
  } catch (const json::exception&) {
    return fail(file, "header", "is not valid JSON; expected a safetensors file");
  }
}

std::optional<StoredType> type_named(std::string_view text) {
  for (int i = 0; i < static_cast<int>(StoredType::kCount); ++i) {
    if (name(static_cast<StoredType>(i)) == text) return static_cast<StoredType>(i);
  }
  return std::nullopt;
}

// A JSON integer from 0 to the largest int64; nothing for anything else.
std::optional<std::int64_t> natural(const json& value) {
  if (!value.is_number_unsigned()) return std::nullopt;
  const auto number = value.get<std::uint64_t>();
  if (number > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) {
    return std::nullopt;
  }
  return static_cast<std::int64_t>(number);
}

std::optional<std::vector<std::int64_t>> naturals(const json& object, const char* key) {
  const auto found = object.find(key);
  if (found == object.end() || !found->is_array()) return std::nullopt;
  std::vector<std::int64_t> values;
  for (const auto& item : *found) {
    const auto value = natural(item);
    if (!value) return std::nullopt;
    values.push_back(*value);
  }
  return values;
}

struct Placed {
  StoredTensor tensor;
  std::int64_t begin = 0;
  std::int64_t end = 0;
};

Result<Placed> parse_tensor(const std::string& tensor_name, const json& entry,
                            const std::string& file) {
  if (!entry.is_object()) {
    return fail(file, tensor_name, "is not an object; expected dtype, shape and data_offsets");
  }
  Placed placed;
  placed.tensor.name = tensor_name;
  const auto type = entry.find("dtype");
  if (type == entry.end() || !type->is_string()) {
    return fail(file, tensor_name, "has no dtype; expected a name such as F32");
  }
  const auto known = type_named(type->get_ref<const std::string&>());
  if (!known) {
    return fail(file, tensor_name,
                "has the unsupported dtype " + type->dump() +
                    "; expected F32, BF16, F16, F64 or an integer type");
  }
  placed.tensor.type = *known;
  auto shape = naturals(entry, "shape");
  if (!shape) {
    return fail(file, tensor_name, "has no valid shape; expected a list of sizes");
  }
  placed.tensor.shape = std::move(*shape);
  const auto offsets = naturals(entry, "data_offsets");
  if (!offsets || offsets->size() != 2 || (*offsets)[0] > (*offsets)[1]) {
    return fail(file, tensor_name, "has no valid data_offsets; expected [begin, end]");
  }
  placed.begin = (*offsets)[0];
  placed.end = (*offsets)[1];

  std::int64_t elements = 1;
  std::int64_t bytes = 0;
  bool overflows = false;
  for (const auto extent : placed.tensor.shape) {
    overflows = overflows || __builtin_mul_overflow(elements, extent, &elements);
  }
  overflows = overflows || __builtin_mul_overflow(elements, item_size(*known), &bytes);
  if (overflows || bytes != placed.end - placed.begin) {
    return fail(file, tensor_name,
                "has " + std::to_string(placed.end - placed.begin) + " bytes, which is not shape " +
                    shape_text(placed.tensor.shape) + " of " + std::string(name(*known)));
  }
  placed.tensor.elements = elements;
  return placed;
}

Result<std::map<std::string, std::string>> parse_metadata(const json& entry,
                                                          const std::string& file) {
  std::map<std::string, std::string> metadata;
  if (entry.is_object()) {
    for (const auto& [key, value] : entry.items()) {
      if (!value.is_string())
        return fail(file, "__metadata__", key + " is not text; expected a string");
      metadata[key] = value.get<std::string>();
    }
    return metadata;
  }
  return fail(file, "__metadata__", "is not an object; expected strings by name");
}

}  // namespace

Result<SafetensorsContents> parse_safetensors_header(std::string_view header,
                                                     std::span<const std::byte> data,
                                                     const std::string& file) {
  auto parsed = parse_json(header, file);
  if (!parsed) return tl::unexpected(parsed.error());
  if (!parsed->is_object()) {
    return fail(file, "header", "is not a JSON object; expected a safetensors file");
  }
  SafetensorsContents contents;
  std::vector<Placed> placed;
  for (const auto& [key, entry] : parsed->items()) {
    if (key == "__metadata__") {
      auto metadata = parse_metadata(entry, file);
      if (!metadata) return tl::unexpected(metadata.error());
      contents.metadata = std::move(*metadata);
      continue;
    }
    auto tensor = parse_tensor(key, entry, file);
    if (!tensor) return tl::unexpected(tensor.error());
    placed.push_back(std::move(*tensor));
  }
  std::sort(placed.begin(), placed.end(), [](const Placed& a, const Placed& b) {
    return std::pair(a.begin, a.end) < std::pair(b.begin, b.end);
  });
  std::int64_t end = 0;
  for (auto& [tensor, first, last] : placed) {
    if (first != end) {
      return fail(file, tensor.name,
                  "begins at byte " + std::to_string(first) + " of the data; expected byte " +
                      std::to_string(end) + ", the end of the previous tensor");
    }
    if (last > static_cast<std::int64_t>(data.size())) {
      return fail(file, tensor.name,
                  "ends at byte " + std::to_string(last) + " of the data, which has only " +
                      std::to_string(data.size()) + "; expected a complete file");
    }
    tensor.data =
        data.subspan(static_cast<std::size_t>(first), static_cast<std::size_t>(last - first));
    end = last;
    contents.tensors.push_back(std::move(tensor));
  }
  if (end != static_cast<std::int64_t>(data.size())) {
    return fail(file, "data",
                "has " + std::to_string(data.size()) + " bytes; expected " + std::to_string(end) +
                    ", the size of the header's tensors");
  }
  return contents;
}

}  // namespace foreshard::executor
