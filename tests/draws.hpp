// How many random cases a property is tested with.
#pragma once

#include <cstdlib>

namespace foreshard::tests {

// FORESHARD_PROPERTY_DRAWS of the environment, or the number given.
inline int draws(int fallback) {
  const char* wanted = std::getenv("FORESHARD_PROPERTY_DRAWS");
  return wanted == nullptr ? fallback : std::atoi(wanted);
}

}  // namespace foreshard::tests
