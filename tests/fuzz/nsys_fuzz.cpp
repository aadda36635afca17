// Any bytes as an export of Nsight Systems: an error, or a trace that keeps its laws.
#include <cstdint>
#include <string>

#include "tests/fuzz/trace_laws.hpp"
#include "traces/nsys/tables.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  namespace fuzz = foreshard::fuzz;
  namespace nsys = foreshard::traces::nsys;
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  auto source = nsys::Source::open_in_memory(input, "export.sqlite");
  if (source) {
    fuzz::require_trace_laws(nsys::read_export(*source, "export.sqlite"));
  } else {
    fuzz::require(source.error().text().find("export.sqlite") != std::string::npos);
  }
  return 0;
}
