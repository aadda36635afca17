#include "traces/read_trace.hpp"

#include <array>
#include <filesystem>
#include <fstream>
#include <string_view>
#include <system_error>

#include "traces/chrome_import.hpp"
#include "traces/fst_file.hpp"

namespace foreshard::traces {
namespace {

std::string first_bytes(const std::string& path) {
  std::array<char, 64> bytes{};
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(path, ignored)) return "";
  std::ifstream file(path, std::ios::binary);
  file.read(bytes.data(), bytes.size());
  return {bytes.data(), static_cast<std::size_t>(file.gcount())};
}

}  // namespace

Result<Trace> read_trace(const std::string& path) {
  if (is_foreshard_export(path)) return read_chrome(path);
  const std::string bytes = first_bytes(path);
  const auto text = bytes.find_first_not_of(" \t\r\n");
  if (text != std::string::npos && (bytes[text] == '{' || bytes[text] == '[')) {
    return fail(path, "",
                "is JSON, but not written by foreshard; expected a trace (.fst), or first "
                "foreshard import kineto for a recording of PyTorch's profiler");
  }
  return read_fst(path);
}

}  // namespace foreshard::traces
