// Lines of a source, of any length up to 64 MiB, each with the bytes behind it that simdjson may
// touch. Only for traces/.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "traces/input/byte_source.hpp"

namespace foreshard::traces {

class LineReader {
 public:
  static constexpr std::size_t kPadding = 64;
  static constexpr std::size_t kLongest = std::size_t{64} << 20;

  explicit LineReader(ByteSource& in) : in_(in) {}

  // The next line without its end, until the next call; false at the end of the source, and before a
  // line that is longer.
  bool next(std::string_view& line);

  // Of the line that was read last, from 1.
  std::int64_t number() const { return number_; }

  // Why there are no further lines, where that is not the end of the source: "has more than 64 MiB".
  std::string incomplete_reason() const {
    return incomplete_reason_.empty() ? in_.incomplete_reason() : incomplete_reason_;
  }

 private:
  bool fill();

  ByteSource& in_;
  std::size_t room_ = 0;
  std::unique_ptr<char[]> buffer_;
  std::size_t begin_ = 0, end_ = 0;
  std::int64_t number_ = 0;
  std::string incomplete_reason_;
};

}  // namespace foreshard::traces
