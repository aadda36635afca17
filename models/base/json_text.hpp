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

}  // namespace foreshard
