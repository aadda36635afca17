// parse_yaml_document: through yaml-cpp's events. Aliases, which let a small file stand for an
// endless one, are refused: no configuration that a program wrote has any.
#include <algorithm>
#include <charconv>
#include <cmath>
#include <initializer_list>
#include <sstream>

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/parser.h>

#include "models/base/utf8.hpp"
#include "models/plan/foreign/document.hpp"

namespace foreshard::foreign {
namespace {

int line_of(const YAML::Mark& mark) {
  return mark.line < 0 ? 0 : mark.line + 1;
}

template <typename Number>
bool reads_as(const std::string& text, Number& number) {
  const char* begin = text.data() + (text.starts_with('+') ? 1 : 0);
  const char* end = text.data() + text.size();
  const auto read = std::from_chars(begin, end, number);
  return read.ec == std::errc() && read.ptr == end && begin != end;
}

bool is_one_of(const std::string& text, std::initializer_list<const char*> words) {
  return std::find(words.begin(), words.end(), text) != words.end();
}

// An unquoted scalar by YAML 1.1's rules, which PyYAML follows: "no" is false, and a number with an
// exponent but no point is a string.
Value plain(const std::string& text) {
  if (is_one_of(text, {"", "~", "null", "Null", "NULL"})) return {};
  if (is_one_of(text, {"true", "True", "TRUE", "yes", "Yes", "YES", "on", "On", "ON"})) {
    return Value::of(true);
  }
  if (is_one_of(text, {"false", "False", "FALSE", "no", "No", "NO", "off", "Off", "OFF"})) {
    return Value::of(false);
  }
  std::string digits = text;
  std::erase(digits, '_');
  if (std::int64_t integer = 0; reads_as(digits, integer)) return Value::of(integer);
  const bool has_point = digits.find('.') != std::string::npos;
  if (double number = 0; has_point && reads_as(digits, number) && std::isfinite(number)) {
    return Value::of(number);
  }
  return Value::of(text);
}

class YamlEvents : public YAML::EventHandler {
 public:
  explicit YamlEvents(DocumentBuilder& builder) : builder_(builder) {}

  void OnDocumentStart(const YAML::Mark& /*mark*/) override {}
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark& mark, YAML::anchor_t /*anchor*/) override { scalar(mark, {}, ""); }
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t /*anchor*/) override {
    throw BadDocument("has an alias (*name); expected the value itself", line_of(mark));
  }
  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t /*anchor*/,
                const std::string& value) override {
    const bool is_quoted = tag == "!" || tag == "tag:yaml.org,2002:str";
    scalar(mark, is_quoted ? Value::of(value) : plain(value), value);
  }
  void OnSequenceStart(const YAML::Mark& mark, const std::string& /*tag*/,
                       YAML::anchor_t /*anchor*/, YAML::EmitterStyle::value /*style*/) override {
    begin_value(mark);
    builder_.begin_list(line_of(mark));
    awaited_.push_back(Awaited::item);
  }
  void OnSequenceEnd() override { end(); }
  void OnMapStart(const YAML::Mark& mark, const std::string& /*tag*/, YAML::anchor_t /*anchor*/,
                  YAML::EmitterStyle::value /*style*/) override {
    begin_value(mark);
    builder_.begin_map(line_of(mark));
    awaited_.push_back(Awaited::key);
  }
  void OnMapEnd() override { end(); }

 private:
  enum class Awaited : std::uint8_t { item, key, value };

  void scalar(const YAML::Mark& mark, Value value, const std::string& text) {
    if (!awaited_.empty() && awaited_.back() == Awaited::key) {
      builder_.key(text, line_of(mark));
      awaited_.back() = Awaited::value;
      return;
    }
    begin_value(mark);
    builder_.scalar(std::move(value), line_of(mark));
  }

  void begin_value(const YAML::Mark& mark) {
    if (awaited_.empty()) return;
    if (awaited_.back() == Awaited::key) {
      throw BadDocument("has a list or a map as a key; expected names", line_of(mark));
    }
    if (awaited_.back() == Awaited::value) awaited_.back() = Awaited::key;
  }

  void end() {
    builder_.end();
    awaited_.pop_back();
  }

  DocumentBuilder& builder_;
  std::vector<Awaited> awaited_;  // next in each open map or list
};

}  // namespace

Result<Value> parse_yaml_document(std::string_view text, const std::string& file) {
  static const std::string kExpected = "; expected a configuration";
  constexpr std::size_t kMaxBytes = std::size_t{256} << 10;  // the library needs 240 times as many
  if (text.size() > kMaxBytes) return fail(file, "", "is larger than 256 KiB" + kExpected);
  std::istringstream stream{std::string(text)};
  DocumentBuilder builder;
  YamlEvents events(builder);
  try {
    YAML::Parser parser(stream);
    parser.HandleNextDocument(events);
  } catch (const BadDocument& bad) {
    return fail(at_line(file, bad.line), "", bad.what() + kExpected);
  } catch (const YAML::Exception& error) {
    return fail(at_line(file, line_of(error.mark)), "",
                "is not valid YAML (" + printable(error.msg) + ")" + kExpected);
  }
  return builder.take();
}

}  // namespace foreshard::foreign
