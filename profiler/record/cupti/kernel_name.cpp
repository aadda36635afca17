#include "profiler/record/cupti/kernel_name.hpp"

#include <cstdlib>
#include <memory>

#include <cxxabi.h>

namespace foreshard::profiler {

std::string demangled(const char* name) {
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> text(
      abi::__cxa_demangle(name, nullptr, nullptr, &status), &std::free);
  return status == 0 && text != nullptr ? text.get() : name;
}

}  // namespace foreshard::profiler
