// The parts of a kernel's name that identify the kernel.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace foreshard::profiler {

struct KernelSignature {
  std::string name;                     // without return type, and uninformative namespaces
  std::string_view template_arguments;  // what is between the angle brackets
};

// Of a C++ signature, as compilers write it, demangled or not. What is none is all name.
KernelSignature kernel_signature(std::string_view text);

// What a kernel applies to its elements, from its template arguments: functors and functions without
// their namespaces and without "_kernel" and its like at their end, at most `most`.
std::vector<std::string> functors(std::string_view template_arguments, std::size_t most);

// "bf16", "fp32", "int64": the type of the elements, from the template arguments; empty where none
// is among them.
std::string element_type(std::string_view template_arguments);

// Template arguments without namespaces and casts.
std::string without_namespaces(std::string_view template_arguments);

}  // namespace foreshard::profiler
