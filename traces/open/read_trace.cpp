#include "traces/open/read_trace.hpp"

#include <filesystem>
#include <system_error>

#include "traces/export/chrome_import.hpp"
#include "traces/fst/fst_file.hpp"
#include "traces/input/byte_source.hpp"
#include "traces/input/foreign_file.hpp"

namespace foreshard::traces {
namespace {

constexpr std::size_t kLooked = 4096;

// Empty where it cannot be read, which the reader of traces will say.
std::string beginning_of(const std::string& path) {
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(path, ignored)) return "";
  return first_bytes(path, kLooked, "a trace").value_or("");
}

}  // namespace

Result<Trace> read_trace(const std::string& path) {
  if (is_foreshard_export(path)) return read_chrome(path);
  const std::string bytes = beginning_of(path);
  const auto text = bytes.find_first_not_of(" \t\r\n");
  if (text != std::string::npos && (bytes[text] == '{' || bytes[text] == '[')) {
    return fail(path, "",
                looks_like(bytes) +
                    ", not a trace of foreshard; expected a trace (.fst), or first "
                    "foreshard import kineto for a recording of PyTorch's profiler");
  }
  return read_fst(path);
}

}  // namespace foreshard::traces
