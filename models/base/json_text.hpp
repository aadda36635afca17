// JSON as text that is always UTF-8: answers hold names from files, and bytes of those that are not
// are replaced. For every type of nlohmann's basic_json; including it is up to the caller.
#pragma once

#include <string>

namespace foreshard {

// On one line, or indented by so many spaces.
template <typename Json>
std::string json_text(const Json& json, int indent = -1) {
  return json.dump(indent, ' ', false, Json::error_handler_t::replace);
}

// The version of the form of all answers: docs/json.md describes when it changes.
constexpr int kSchemaVersion = 1;

// An answer begins with its version. It can be large, so that its text is not parsed again.
inline std::string with_schema_version(const std::string& object) {
  const std::string version = std::to_string(kSchemaVersion);
  return (object.starts_with("{\n") ? "{\n  \"schema_version\": " : "{\"schema_version\":") +
         version + "," + object.substr(1);
}

}  // namespace foreshard
