// Any bytes as our Chrome JSON: an error, or a trace that survives being written and read again.
#include <cstdint>
#include <cstdlib>
#include <sstream>
#include <string>

#include "traces/export/chrome_export.hpp"
#include "traces/export/chrome_import.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  namespace traces = foreshard::traces;
  const std::string name = "input.json";
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  const auto trace = traces::read_chrome(*traces::bytes_in_memory(input), name);
  if (!trace) {
    if (trace.error().text().find(name) == std::string::npos) std::abort();
    return 0;
  }
  std::ostringstream out;
  traces::write_chrome(*trace, out);
  const std::string written = out.str();
  const auto again = traces::read_chrome(*traces::bytes_in_memory(written), name);
  if (!again || again->events.size() != trace->events.size() ||
      again->memory.size() != trace->memory.size() || again->dropped != trace->dropped) {
    std::abort();
  }
  return 0;
}
