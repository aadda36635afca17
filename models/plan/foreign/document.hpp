// A configuration file as a tree of values, whichever language it is written in, so that what a key
// means is decided once. Files are untrusted: the tree is built while the file is parsed, and
// parsing ends where it nests too deeply or holds too much. Only for the sources of this folder.
#pragma once

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "models/base/error.hpp"

namespace foreshard::foreign {

struct Entry;

struct Value {
  enum class Kind : std::uint8_t { null, boolean, integer, number, string, list, map };

  Kind kind = Kind::null;
  bool boolean = false;
  std::int64_t integer = 0;
  double number = 0;
  std::string text;
  std::vector<Value> items;            // of a list
  std::vector<Entry> entries;          // of a map, in the order of the file
  int line = 0;                        // 0: not known
  mutable bool is_understood = false;  // it was looked up

  static Value of(bool value);
  static Value of(std::int64_t value);
  static Value of(double value);
  static Value of(std::string value);

  // The entry of a map; nothing where there is none or the value is no map.
  const Value* find(std::string_view key) const;
};

struct Entry {
  std::string key;
  Value value;
};

// On one line, shortened: "FULL_SHARD", "8", "a list of 3".
std::string shown(const Value& value);

// Thrown through a library's parser, caught where the parser was called.
struct BadDocument : std::runtime_error {
  BadDocument(const std::string& what, int at_line) : std::runtime_error(what), line(at_line) {}
  int line;
};

// Takes a parser's events in the order of the text.
class DocumentBuilder {
 public:
  void begin_map(int line) { open(Value::Kind::map, line); }
  void begin_list(int line) { open(Value::Kind::list, line); }
  void key(std::string key, int line);
  void scalar(Value value, int line);
  void end() { open_.pop_back(); }

  Value take() { return std::move(root_); }

 private:
  void open(Value::Kind kind, int line);
  Value& place(int line);

  Value root_;
  std::vector<Value*> open_;  // the maps and lists around the next event
  std::string key_;
  std::size_t values_ = 0;
};

Result<Value> parse_json_document(std::string_view text, const std::string& file);
Result<Value> parse_toml_document(std::string_view text, const std::string& file);
Result<Value> parse_yaml_document(std::string_view text, const std::string& file);

// "file:line", or the file where the line is not known.
std::string at_line(const std::string& file, int line);

}  // namespace foreshard::foreign
