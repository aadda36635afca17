#include "models/plan/foreign/document.hpp"

#include <algorithm>
#include <charconv>

#include "models/base/figures.hpp"
#include "models/base/utf8.hpp"

namespace foreshard::foreign {
namespace {

constexpr std::size_t kMaxNesting = 16;
constexpr std::size_t kMaxValues = 4096;

}  // namespace

Value Value::of(bool value) {
  Value made;
  made.kind = Kind::boolean;
  made.boolean = value;
  return made;
}

Value Value::of(std::int64_t value) {
  Value made;
  made.kind = Kind::integer;
  made.integer = value;
  return made;
}

Value Value::of(double value) {
  Value made;
  made.kind = Kind::number;
  made.number = value;
  return made;
}

Value Value::of(std::string value) {
  Value made;
  made.kind = Kind::string;
  made.text = std::move(value);
  return made;
}

const Value* Value::find(std::string_view key) const {
  const auto found = std::find_if(entries.begin(), entries.end(),
                                  [key](const Entry& entry) { return entry.key == key; });
  return found == entries.end() ? nullptr : &found->value;
}

std::string shown(const Value& value) {
  switch (value.kind) {
    case Value::Kind::null: return "null";
    case Value::Kind::boolean: return value.boolean ? "true" : "false";
    case Value::Kind::integer: return std::to_string(value.integer);
    case Value::Kind::number: {
      char digits[32];
      return {digits, std::to_chars(digits, digits + sizeof digits, value.number).ptr};
    }
    case Value::Kind::string: return value.text.empty() ? "\"\"" : excerpt(value.text);
    case Value::Kind::list: break;
    case Value::Kind::map: return "a section";
  }
  std::string text;
  for (const Value& item : value.items) {
    if (item.kind == Value::Kind::list || item.kind == Value::Kind::map) {
      return "a list of " + std::to_string(value.items.size());
    }
    text += (text.empty() ? "" : ", ") + shown(item);
  }
  return excerpt("[" + text + "]");
}

void DocumentBuilder::key(std::string key, int line) {
  if (open_.back()->find(key) != nullptr) {
    throw BadDocument("has the key " + excerpt(key) + " twice; expected each key once", line);
  }
  key_ = std::move(key);
}

void DocumentBuilder::scalar(Value value, int line) {
  value.line = line;
  place(line) = std::move(value);
}

void DocumentBuilder::open(Value::Kind kind, int line) {
  if (open_.size() == kMaxNesting) {
    throw BadDocument("nests deeper than " + std::to_string(kMaxNesting) + " levels", line);
  }
  Value& value = place(line);
  value.kind = kind;
  value.line = line;
  open_.push_back(&value);
}

// Only the innermost open value grows, and it is the last of the one around it: pointers to open
// values stay good.
Value& DocumentBuilder::place(int line) {
  if (++values_ > kMaxValues) {
    throw BadDocument("holds more than " + with_thousands(kMaxValues) + " values", line);
  }
  if (open_.empty()) return root_;
  Value& around = *open_.back();
  if (around.kind == Value::Kind::list) return around.items.emplace_back();
  return around.entries.emplace_back(Entry{std::move(key_), {}}).value;
}

std::string at_line(const std::string& file, int line) {
  return line == 0 ? file : file + ":" + std::to_string(line);
}

}  // namespace foreshard::foreign
