// Any bytes as our Chrome JSON: an error, or a trace that survives being written and read again.
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include <unistd.h>

#include "traces/chrome_export.hpp"
#include "traces/chrome_import.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  namespace traces = foreshard::traces;
  static const std::string path = (std::filesystem::path("/dev/shm") /
                                   ("chrome_import_fuzz." + std::to_string(::getpid()) + ".json"))
                                      .string();
  std::ofstream(path, std::ios::binary)
      .write(reinterpret_cast<const char*>(data), static_cast<std::streamsize>(size));
  const auto trace = traces::read_chrome(path);
  if (trace) {
    if (!traces::export_chrome(*trace, path)) std::abort();
    const auto again = traces::read_chrome(path);
    if (!again || again->events.size() != trace->events.size() ||
        again->memory.size() != trace->memory.size() || again->dropped != trace->dropped) {
      std::abort();
    }
  } else if (trace.error().text().find(path) == std::string::npos) {
    std::abort();
  }
  std::error_code ignored;
  std::filesystem::remove(path, ignored);
  return 0;
}
