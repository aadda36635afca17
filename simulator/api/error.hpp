// Results of the libraries as those of the interface. For the sources of this folder.
#pragma once

#include <string>
#include <utility>

#include <foreshard/result.hpp>

#include "models/base/error.hpp"

namespace foreshard::api {

// Names of the command line's options become those of members: "--device-memory" is device_memory.
inline Error error_of(const foreshard::Error& error) {
  const auto member = [](std::string name) {
    if (!name.starts_with("--")) return name;
    name.erase(0, 2);
    for (char& c : name) c = c == '-' ? '_' : c;
    return name;
  };
  return {member(error.file), member(error.field), error.message};
}

}  // namespace foreshard::api
