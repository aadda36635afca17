// Reading of JSON lines: lines of a plain or gzip file or of text, and members of an object with
// errors that name file, line and key. Private to this folder's readers.
#pragma once

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>
#include <zlib.h>

#include "models/error.hpp"

namespace foreshard::traces {

// Lines of a plain or gzip file, or of text in memory. A file that breaks off in the middle is an
// error, not an end; so is a line that is no text, or that no memory would hold.
class Lines {
 public:
  explicit Lines(const std::filesystem::path& file) : file_(gzopen(file.c_str(), "rb"), gzclose) {}
  explicit Lines(std::string_view text) : rest_(text) {}

  bool is_open() const { return file_ != nullptr; }
  bool is_broken() const { return broken_; }
  int number() const { return number_; }

  // The next line without its end, which stays until the next call.
  bool next(std::string_view& line) {
    ++number_;
    std::size_t searched = 0, end = 0;
    while ((end = rest_.find('\n', searched)) == std::string_view::npos) {
      searched = rest_.size();
      if (searched > kLongestLine || !read_on()) break;
    }
    line = rest_.substr(0, end);
    const bool has_zero = line.find('\0') != std::string_view::npos;  // which no text has
    broken_ |= has_zero || line.size() > kLongestLine;
    const bool is_line = end != std::string_view::npos || !line.empty();
    rest_.remove_prefix(std::min(line.size() + 1, rest_.size()));
    return is_line && !broken_;
  }

 private:
  static constexpr std::size_t kLongestLine = std::size_t{64} << 20, kPart = std::size_t{1} << 16;

  // Puts the next part of the file behind the rest. False at the end.
  bool read_on() {
    if (!file_) return false;
    const std::size_t kept = rest_.size();
    buffer_.erase(0, buffer_.size() - kept);
    buffer_.resize(kept + kPart);
    const int read = gzread(file_.get(), buffer_.data() + kept, static_cast<unsigned>(kPart));
    buffer_.resize(kept + static_cast<std::size_t>(std::max(read, 0)));
    rest_ = buffer_;
    int code = Z_OK;
    gzerror(file_.get(), &code);
    broken_ |= code != Z_OK && code != Z_STREAM_END;
    return read > 0;
  }

  std::unique_ptr<gzFile_s, int (*)(gzFile)> file_{nullptr, gzclose};
  std::string buffer_;     // of the file
  std::string_view rest_;  // what no line has been made of yet; of a file, the end of the buffer
  int number_ = 0;
  bool broken_ = false;
};

// One JSON object of the file, whose members are read with errors that name the line and the key.
class JsonObject {
 public:
  JsonObject(std::string file, std::string place, const nlohmann::json& json)
      : file_(std::move(file)), place_(std::move(place)), json_(&json) {}

  tl::unexpected<Error> wrong(const std::string& key, const std::string& message) const {
    return fail(file_, place_ + (key.empty() ? "" : ": " + key), message);
  }

  // A whole number of at least `least`; `fallback` where the key is missing and there is one.
  Result<std::int64_t> integer(const char* key, std::int64_t least,
                               std::optional<std::int64_t> fallback = std::nullopt) const {
    const auto found = json_->find(key);
    if (found == json_->end() && fallback) return *fallback;
    const std::string expected = "; expected a whole number, at least " + std::to_string(least);
    if (found == json_->end()) return wrong(key, "is missing" + expected);
    if (!found->is_number_integer()) return wrong(key, "is " + found->dump() + expected);
    const bool too_large = found->is_number_unsigned() && found->get<std::uint64_t>() > kLargest;
    const auto value = found->get<std::int64_t>();
    if (too_large || value < least) return wrong(key, "is " + found->dump() + expected);
    return value;
  }

  Result<bool> boolean(const char* key, bool fallback) const {
    const auto found = json_->find(key);
    if (found == json_->end()) return fallback;
    if (!found->is_boolean()) return wrong(key, "is " + found->dump() + "; expected true or false");
    return found->get<bool>();
  }

  Result<std::string> word(const char* key) const {
    const auto found = json_->find(key);
    if (found == json_->end() || !found->is_string()) {
      return wrong(key, (found == json_->end() ? "is missing" : "is " + found->dump()) +
                            std::string("; expected a word"));
    }
    return found->get<std::string>();
  }

  Result<std::vector<JsonObject>> objects(const char* key) const {
    const auto found = json_->find(key);
    std::vector<JsonObject> result;
    if (found == json_->end()) return result;
    if (!found->is_array()) return wrong(key, "is no list; expected a list of objects");
    for (std::size_t i = 0; i < found->size(); ++i) {
      const std::string place = place_ + ": " + key + "[" + std::to_string(i) + "]";
      if (!(*found)[i].is_object()) return fail(file_, place, "is no object; expected one");
      result.emplace_back(file_, place, (*found)[i]);
    }
    return result;
  }

  const nlohmann::json& json() const { return *json_; }
  const std::string& file() const { return file_; }
  const std::string& place() const { return place_; }

 private:
  // Addresses and sizes stay far from overflow when they are added.
  static constexpr std::uint64_t kLargest = std::uint64_t{1} << 61;

  std::string file_, place_;
  const nlohmann::json* json_;
};

}  // namespace foreshard::traces
