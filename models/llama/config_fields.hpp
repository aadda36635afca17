// The fields of a model's config.json, read with their bounds. Included by the reader only, so that
// the JSON library stays in here.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include <nlohmann/json.hpp>

#include "models/base/error.hpp"
#include "models/base/json_text.hpp"
#include "models/base/utf8.hpp"

namespace foreshard {

using Json = nlohmann::json;

inline std::string shown(const Json& value) {
  return excerpt(json_text(value));
}

// Reads fields of one JSON object and remembers the first thing wrong with any of them.
class ConfigFields {
 public:
  ConfigFields(const Json& object, std::string prefix, const std::string& file,
               std::optional<Error>& error)
      : object_(object), prefix_(std::move(prefix)), file_(file), error_(error) {}

  bool has(const std::string& key) const { return object_.contains(key); }

  // The field's value, or nothing when it is missing or null.
  const Json* find(const std::string& key) const {
    const auto found = object_.find(key);
    return found == object_.end() || found->is_null() ? nullptr : &*found;
  }

  std::int64_t integer(const std::string& key, std::int64_t least, std::int64_t most,
                       std::optional<std::int64_t> fallback = {}) {
    const std::string expected =
        "an integer from " + std::to_string(least) + " to " + std::to_string(most);
    const Json* value = find(key);
    if (value == nullptr) return missing(key, expected, fallback);
    const bool fits = value->is_number_unsigned()
                          ? value->get<std::uint64_t>() <= static_cast<std::uint64_t>(most)
                          : value->is_number_integer();
    if (fits && value->get<std::int64_t>() >= least && value->get<std::int64_t>() <= most) {
      return value->get<std::int64_t>();
    }
    wrong(key, "is " + shown(*value) + "; expected " + expected);
    return least;
  }

  double number(const std::string& key, double least, double most,
                std::optional<double> fallback = {}) {
    const std::string expected = "a number from " + shown(least) + " to " + shown(most);
    const Json* value = find(key);
    if (value == nullptr) return missing(key, expected, fallback);
    if (value->is_number()) {
      const double number = value->get<double>();
      if (number >= least && number <= most) return number;
    }
    wrong(key, "is " + shown(*value) + "; expected " + expected);
    return least;
  }

  bool flag(const std::string& key, bool fallback) {
    const Json* value = find(key);
    if (value == nullptr) return fallback;
    if (value->is_boolean()) return value->get<bool>();
    wrong(key, "is " + shown(*value) + "; expected true or false");
    return fallback;
  }

  std::string string(const std::string& key, const std::string& fallback) {
    const Json* value = find(key);
    if (value == nullptr) return fallback;
    if (value->is_string()) return value->get<std::string>();
    wrong(key, "is " + shown(*value) + "; expected a string");
    return fallback;
  }

  // Fails unless the field is absent or equal to what this project computes with.
  void only(const std::string& key, const Json& allowed) {
    const Json* value = find(key);
    if (value != nullptr && *value != allowed) {
      wrong(key, "is " + shown(*value) + ", which is not supported; expected " + shown(allowed));
    }
  }

  void wrong(const std::string& key, const std::string& message) {
    if (!error_) error_ = Error{file_, prefix_ + key, message};
  }

 private:
  template <typename T>
  T missing(const std::string& key, const std::string& expected, std::optional<T> fallback) {
    if (!fallback) wrong(key, "is missing; expected " + expected);
    return fallback.value_or(T{1});
  }

  const Json& object_;
  std::string prefix_;
  const std::string& file_;
  std::optional<Error>& error_;
};

}  // namespace foreshard
