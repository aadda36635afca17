// One JSON object of an untrusted file, whose members are read with errors that name file, line and key.
// It has been parsed within the bounds of json_limits.hpp, so that writing a value for a message does
// not recurse far. Private to this folder's readers.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>

#include <nlohmann/json.hpp>

#include "models/base/error.hpp"
#include "models/base/json_text.hpp"
#include "models/base/utf8.hpp"
#include "traces/input/limits.hpp"

namespace foreshard::traces {

class JsonObject {
 public:
  JsonObject(std::string file, std::string path, const nlohmann::json& json)
      : file_(std::move(file)), path_(std::move(path)), json_(&json) {}

  tl::unexpected<Error> wrong(const std::string& key, const std::string& message) const {
    return fail(file_, path_ + (key.empty() ? "" : ": " + key), message);
  }

  // "is [1,2,3]": how messages name what was found.
  static std::string is(const nlohmann::json& value) { return "is " + excerpt(json_text(value)); }

  // A whole number of at least `least`; `fallback` where the key is missing and there is one.
  Result<std::int64_t> integer(const char* key, std::int64_t least,
                               std::optional<std::int64_t> fallback = std::nullopt) const {
    const auto found = json_->find(key);
    if (found == json_->end() && fallback) return *fallback;
    const std::string expected = "; expected a whole number, at least " + std::to_string(least);
    if (found == json_->end()) return wrong(key, "is missing" + expected);
    if (!found->is_number_integer()) return wrong(key, is(*found) + expected);
    const bool too_large = found->is_number_unsigned() && found->get<std::uint64_t>() > kHighest;
    const auto value = found->get<std::int64_t>();
    if (too_large || value < least) return wrong(key, is(*found) + expected);
    return value;
  }

  Result<bool> boolean(const char* key, bool fallback) const {
    const auto found = json_->find(key);
    if (found == json_->end()) return fallback;
    if (!found->is_boolean()) return wrong(key, is(*found) + "; expected true or false");
    return found->get<bool>();
  }

  Result<std::string> word(const char* key,
                           std::optional<std::string> fallback = std::nullopt) const {
    const auto found = json_->find(key);
    if (found == json_->end() && fallback) return *std::move(fallback);
    if (found == json_->end() || !found->is_string()) {
      return wrong(key, (found == json_->end() ? "is missing" : is(*found)) +
                            std::string("; expected a string"));
    }
    return found->get<std::string>();
  }

  // Calls `use` with each object of a list, one at a time, until one of them is wrong.
  Result<void> each(const char* key,
                    const std::function<Result<void>(const JsonObject&)>& use) const {
    const auto found = json_->find(key);
    if (found == json_->end()) return {};
    if (!found->is_array()) return wrong(key, "is not a list; expected a list of objects");
    for (std::size_t i = 0; i < found->size(); ++i) {
      const std::string path = path_ + ": " + key + "[" + std::to_string(i) + "]";
      if (!(*found)[i].is_object()) return fail(file_, path, "is not an object; expected one");
      if (auto used = use(JsonObject(file_, path, (*found)[i])); !used) return used;
    }
    return {};
  }

  const nlohmann::json& json() const { return *json_; }
  const std::string& file() const { return file_; }
  const std::string& path() const { return path_; }

 private:
  static constexpr auto kHighest = static_cast<std::uint64_t>(kHighestAddress);

  std::string file_, path_;
  const nlohmann::json* json_;
};

}  // namespace foreshard::traces
