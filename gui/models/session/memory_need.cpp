#include "gui/models/session/memory_need.hpp"

#include <filesystem>
#include <system_error>

namespace foreshard::gui {
namespace {

namespace fs = std::filesystem;

// Bytes of memory for each byte of the file: an event takes some 60 bytes here and 80 while it is opened,
// 55 in a .fst file, 400 as JSON of PyTorch's profiler, of which gzip leaves a twentieth.
constexpr double kOfDatabase = 2, kOfJson = 1, kOfCompressed = 10;

double factor(const fs::path& file) {
  if (file.extension() == ".gz") return kOfCompressed;
  return file.extension() == ".json" ? kOfJson : kOfDatabase;
}

std::int64_t of_file(const fs::path& file) {
  std::error_code error;
  const auto bytes = fs::file_size(file, error);
  return error ? 0 : static_cast<std::int64_t>(static_cast<double>(bytes) * factor(file));
}

}  // namespace

std::int64_t estimated_memory(const std::string& path) {
  std::error_code error;
  if (!fs::is_directory(path, error)) return of_file(path);
  std::int64_t sum = 0;
  for (const auto& entry : fs::directory_iterator(path, error)) sum += of_file(entry.path());
  return sum;
}

}  // namespace foreshard::gui
