// Any bytes as an export of Nsight Systems: an error, or a trace that can be analysed.
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include <unistd.h>

#include "profiler/analysis/analysis.hpp"
#include "traces/import.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  // In memory where there is such a folder: the importer takes a path.
  static const std::string path =
      (std::filesystem::path(std::filesystem::exists("/dev/shm")
                                 ? "/dev/shm"
                                 : std::filesystem::temp_directory_path().string()) /
       ("nsys_fuzz." + std::to_string(::getpid()) + ".sqlite"))
          .string();
  std::ofstream(path, std::ios::binary)
      .write(reinterpret_cast<const char*>(data), static_cast<std::streamsize>(size));
  const auto trace = foreshard::traces::import_nsys(path);
  std::error_code ignored;
  std::filesystem::remove(path, ignored);
  if (!trace) {
    if (trace.error().text().find(path) == std::string::npos) std::abort();
    return 0;
  }
  if (foreshard::profiler::to_json(foreshard::profiler::analyse(*trace)).empty()) std::abort();
  return 0;
}
