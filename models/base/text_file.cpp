#include "models/base/text_file.hpp"

#include "models/base/input_file.hpp"

namespace foreshard {

Result<std::string> read_text_file(const std::string& path, const std::string& expected,
                                   Bytes limit) {
  auto file = InputFile::open(path, expected);
  if (!file) return tl::unexpected(file.error());

  std::string text;
  char block[1 << 16];
  while (const std::size_t size = file->read(block, sizeof block)) {
    text.append(block, size);
    if (static_cast<std::int64_t>(text.size()) > limit.count) {
      return fail(path, "",
                  "is larger than " + std::to_string(limit.count / kMiB.count) + " MiB; expected " +
                      expected);
    }
  }
  if (!file->trouble().empty()) return fail(path, "", file->trouble() + "; expected " + expected);
  return text;
}

}  // namespace foreshard
