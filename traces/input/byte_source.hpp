// The bytes of a file or of memory, inflated where they are gzip's. Files are read and inflated by a
// thread of their own, a few blocks ahead of whoever takes the bytes. Every reader of this folder that
// reads a file from its beginning to its end takes its bytes from here.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "models/base/error.hpp"

namespace foreshard::traces {

class ByteSource {
 public:
  virtual ~ByteSource() = default;

  // Fills `to` as far as there is something; less than `room` means the end.
  virtual std::size_t read(char* to, std::size_t room) = 0;

  // Why it ended before it should have: a sentence about the input, empty where it did not.
  virtual std::string incomplete_reason() const { return {}; }
};

// The bytes must outlive the source.
std::unique_ptr<ByteSource> bytes_in_memory(std::string_view data);

// Whatever `compressed` inflates to, where it begins like gzip; else its bytes as they are. Stops
// as incomplete where no recording would compress that well.
std::unique_ptr<ByteSource> inflated(std::unique_ptr<ByteSource> compressed);

// A file's content, inflated, read ahead. Errors as of InputFile::open; `expected`
// ends the message, such as "a recording of PyTorch's profiler". `on_read` is told, by the reading
// thread, of each part of the file that was read, not inflated; where it returns false, the source ends
// there.
using OnRead = std::function<bool(std::size_t bytes)>;
Result<std::unique_ptr<ByteSource>> open_bytes(const std::string& path, const std::string& expected,
                                               OnRead on_read = {});

// The first bytes of a file's content, inflated: at most `most`, fewer where it has no more. Errors as
// of open_bytes.
Result<std::string> first_bytes(const std::string& path, std::size_t most,
                                const std::string& expected);

}  // namespace foreshard::traces
