#include "models/base/assertion.hpp"

#include <cstdio>
#include <cstdlib>

namespace foreshard {

void assertion_failed(const char* condition, const char* message, const char* file, int line) {
  std::fprintf(stderr, "foreshard: internal error: %s:%d: %s (%s)\n", file, line, message,
               condition);
  std::abort();
}

}  // namespace foreshard
