// parse_json_document: through the library's events, so that no tree of its own is built.
#include <nlohmann/json.hpp>

#include "models/base/json_limits.hpp"
#include "models/plan/foreign/document.hpp"

namespace foreshard::foreign {
namespace {

using Json = nlohmann::json;

class JsonEvents : public nlohmann::json_sax<Json> {
 public:
  JsonEvents(DocumentBuilder& builder, std::string_view text) : builder_(builder), text_(text) {}

  bool null() override { return scalar({}); }
  bool boolean(bool value) override { return scalar(Value::of(value)); }
  bool number_integer(Json::number_integer_t value) override { return scalar(Value::of(value)); }
  bool number_unsigned(Json::number_unsigned_t value) override {
    return value > static_cast<Json::number_unsigned_t>(INT64_MAX)
               ? scalar(Value::of(static_cast<double>(value)))
               : scalar(Value::of(static_cast<std::int64_t>(value)));
  }
  bool number_float(Json::number_float_t value, const std::string& /*text*/) override {
    return scalar(Value::of(value));
  }
  bool string(std::string& value) override { return scalar(Value::of(std::move(value))); }
  bool binary(Json::binary_t& /*value*/) override { return false; }
  bool start_object(std::size_t /*entries*/) override {
    builder_.begin_map(0);
    return true;
  }
  bool key(std::string& key) override {
    builder_.key(std::move(key), 0);
    return true;
  }
  bool end_object() override {
    builder_.end();
    return true;
  }
  bool start_array(std::size_t /*items*/) override {
    builder_.begin_list(0);
    return true;
  }
  bool end_array() override {
    builder_.end();
    return true;
  }
  bool parse_error(std::size_t position, const std::string& /*token*/,
                   const nlohmann::detail::exception& /*error*/) override {
    throw BadDocument("is not valid JSON at " + line_and_column(text_, position), 0);
  }

 private:
  bool scalar(Value value) {
    builder_.scalar(std::move(value), 0);
    return true;
  }

  DocumentBuilder& builder_;
  std::string_view text_;
};

}  // namespace

Result<Value> parse_json_document(std::string_view text, const std::string& file) {
  DocumentBuilder builder;
  JsonEvents events(builder, text);
  constexpr bool kToTheEnd = true, kSkipComments = true;
  try {
    Json::sax_parse(text, &events, Json::input_format_t::json, kToTheEnd, kSkipComments);
  } catch (const BadDocument& bad) {
    return fail(file, "", std::string(bad.what()) + "; expected a configuration");
  }
  return builder.take();
}

}  // namespace foreshard::foreign
