// Values of a cost file, each within its bounds; the first thing that is wrong with any of them is kept.
#pragma once

#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include <nlohmann/json.hpp>

#include "models/base/error.hpp"

namespace foreshard::simulator {

// Reads values of one object; remembers the first thing wrong with any of them.
class CostFileReader {
 public:
  CostFileReader(const nlohmann::json& object, std::string prefix, std::optional<Error>& error,
                 const std::string& file)
      : object_(object), prefix_(std::move(prefix)), error_(error), file_(file) {}

  bool has(const char* key) const { return object_.contains(key); }

  double number(const char* key, double least, double most) {
    const nlohmann::json* value = find(key);
    if (value == nullptr) return least;
    const double x = value->is_number() ? value->get<double>() : NAN;
    if (x >= least && x <= most) return x;
    wrong(key, "is out of range or not a number; expected a number from " + shown(least) + " to " +
                   shown(most));
    return least;
  }

  std::int64_t integer(const char* key, std::int64_t least, std::int64_t most) {
    const double x = number(key, static_cast<double>(least), static_cast<double>(most));
    if (x != std::floor(x)) wrong(key, "is not an integer; expected an integer");
    return std::llround(x);
  }

  std::string word(const char* key) {
    const nlohmann::json* value = find(key);
    if (value == nullptr) return {};
    if (value->is_string()) return value->get<std::string>();
    wrong(key, "is not text; expected a string");
    return {};
  }

  bool truth(const char* key) {
    const nlohmann::json* value = find(key);
    if (value == nullptr) return false;
    if (value->is_boolean()) return value->get<bool>();
    wrong(key, "is not a boolean; expected true or false");
    return false;
  }

  // Calls `read` with a reader of each object of the list.
  template <typename Read>
  void list(const char* key, Read read) {
    const nlohmann::json* value = find(key);
    if (value == nullptr) return;
    if (!value->is_array()) return wrong(key, "is not a list; expected a list of objects");
    for (std::size_t i = 0; i < value->size() && !error_; ++i) {
      const std::string name = prefix_ + key + "[" + std::to_string(i) + "]";
      if (!(*value)[i].is_object())
        return wrong(key, "contains a value that is not an object; expected objects");
      CostFileReader item((*value)[i], name + ".", error_, file_);
      read(item);
    }
  }

  CostFileReader object(const char* key) {
    static const nlohmann::json empty = nlohmann::json::object();
    const nlohmann::json* value = find(key);
    if (value != nullptr && !value->is_object()) {
      wrong(key, "is not an object; expected an object");
      value = nullptr;
    }
    return {value == nullptr ? empty : *value, prefix_ + key + ".", error_, file_};
  }

  void wrong(const char* key, const std::string& message) {
    if (!error_) error_ = Error{file_, prefix_ + key, message};
  }

 private:
  static std::string shown(double x) { return nlohmann::json(x).dump(); }

  const nlohmann::json* find(const char* key) {
    if (error_) return nullptr;
    const auto found = object_.find(key);
    if (found != object_.end()) return &*found;
    wrong(key, "is missing; expected it, as in files written by `foreshard fit`");
    return nullptr;
  }

  const nlohmann::json& object_;
  std::string prefix_;
  std::optional<Error>& error_;
  const std::string& file_;
};

}  // namespace foreshard::simulator
