#include "cli/common/piped_recording.hpp"

#include <array>
#include <filesystem>
#include <fstream>
#include <map>
#include <system_error>
#include <utility>

#include "models/base/input_file.hpp"

namespace foreshard::cli {
namespace {

namespace fs = std::filesystem;

constexpr const char* kStandardInput = "/dev/stdin";

bool is_open_pipe(const std::string& path) {
  std::error_code ignored;
  const fs::file_type type = fs::status(path, ignored).type();
  return (type == fs::file_type::fifo || type == fs::file_type::socket) &&
         fs::is_symlink(fs::symlink_status(path, ignored));
}

std::map<std::string, std::string>& pipes() {  // by temporary file
  static std::map<std::string, std::string> all;
  return all;
}

}  // namespace

Result<void> PipedRecordings::store(std::string& path) {
  if (path == "-") path = kStandardInput;
  if (!is_open_pipe(path)) return {};
  auto pipe = InputFile::open(path, "a recording");
  if (!pipe) return tl::unexpected(pipe.error());
  const auto& folder = folders_.emplace_back("pipe");
  const std::string file = folder.file("recording");
  std::ofstream copy(file, std::ios::binary);
  std::array<char, 1 << 16> block;
  for (std::size_t size = block.size(); size == block.size() && copy;) {
    size = pipe->read(block.data(), block.size());
    copy.write(block.data(), static_cast<std::streamsize>(size));
  }
  if (!pipe->trouble().empty()) {
    return fail(path, "", pipe->trouble() + "; expected a recording");
  }
  if (!folder.exists() || !copy.flush()) {
    return fail(path, "", "cannot be copied to a temporary file; expected room in TMPDIR");
  }
  pipes()[file] = std::exchange(path, file);
  return {};
}

std::string as_given(std::string text) {
  for (const auto& [file, pipe] : pipes()) {
    if (const auto at = text.find(file); at != std::string::npos) {
      text.replace(at, file.size(), pipe);
    }
  }
  return text;
}

}  // namespace foreshard::cli
