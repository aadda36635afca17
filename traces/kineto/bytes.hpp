// The bytes of a recording, from a file or from memory, inflated where they are gzip's. Files are read
// and inflated by a thread of their own, a few blocks ahead of whoever takes the bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "models/error.hpp"

namespace foreshard::traces::kineto {

class Bytes {
 public:
  virtual ~Bytes() = default;

  // Fills `to` as far as there is something; less than `room` means the end.
  virtual std::size_t read(char* to, std::size_t room) = 0;

  // Why it ended before it should have: a sentence about the input, empty where it did not.
  virtual std::string trouble() const { return {}; }
};

std::unique_ptr<Bytes> bytes_in_memory(std::string_view data);

// Whatever `compressed` inflates to, where it begins like gzip; else its bytes as they are. Stops
// with trouble where no recording would compress that well.
std::unique_ptr<Bytes> inflated(std::unique_ptr<Bytes> compressed);

// A file's content, inflated, read ahead.
Result<std::unique_ptr<Bytes>> open_file(const std::string& path);

}  // namespace foreshard::traces::kineto
