// Names of kernels as programs spell them.
#pragma once

#include <string>

namespace foreshard::profiler {

// "_Z3addPf" is "add(float*)"; what is no mangled name stays as it is.
std::string demangled(const char* name);

}  // namespace foreshard::profiler
