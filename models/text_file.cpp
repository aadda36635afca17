#include "models/text_file.hpp"

#include <filesystem>
#include <fstream>
#include <system_error>

namespace foreshard {

Result<std::string> read_text_file(const std::string& path, const std::string& expected,
                                   Bytes limit) {
  std::error_code error;
  const std::filesystem::file_status status = std::filesystem::status(path, error);
  if (!std::filesystem::exists(status)) {
    return fail(path, "", "no such file; expected " + expected);
  }
  if (std::filesystem::is_directory(status)) {
    return fail(path, "", "is a folder; expected " + expected);
  }
  std::ifstream stream(path, std::ios::binary);
  if (!stream) return fail(path, "", "cannot be opened for reading; expected " + expected);

  std::string text;
  char block[1 << 16];
  while (stream.read(block, sizeof block) || stream.gcount() > 0) {
    text.append(block, static_cast<std::size_t>(stream.gcount()));
    if (static_cast<std::int64_t>(text.size()) > limit.count) {
      return fail(path, "",
                  "is larger than " + std::to_string(limit.count / kMiB.count) + " MiB; expected " +
                      expected);
    }
  }
  if (stream.bad()) return fail(path, "", "cannot be read to its end; expected " + expected);
  return text;
}

}  // namespace foreshard
