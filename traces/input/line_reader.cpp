#include "traces/input/line_reader.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

namespace foreshard::traces {
namespace {

constexpr std::size_t kChunk = std::size_t{1} << 18;

}  // namespace

bool LineReader::next(std::string_view& line) {
  ++number_;
  if (!incomplete_reason_.empty()) return false;
  for (std::size_t searched = 0;;) {
    const char* const start = buffer_.get() + begin_;
    const std::size_t size = end_ - begin_;
    const void* const end =
        size > searched ? std::memchr(start + searched, '\n', size - searched) : nullptr;
    searched = size;
    if (end == nullptr && size <= kLongest && fill()) continue;
    const auto length =
        end == nullptr ? size : static_cast<std::size_t>(static_cast<const char*>(end) - start);
    line = {buffer_.get() + begin_, length};
    begin_ += std::min(length + 1, size);
    if (length > kLongest) incomplete_reason_ = "is longer than 64 MiB";
    return incomplete_reason_.empty() && (end != nullptr || length > 0);
  }
}

// More bytes behind those that are in no line yet.
bool LineReader::fill() {
  const std::size_t kept = end_ - begin_;
  if (room_ < kept + kChunk / 2 + kPadding) {
    const std::size_t room = std::max(2 * room_, kChunk);
    auto larger = std::make_unique_for_overwrite<char[]>(room);
    if (kept > 0) std::memcpy(larger.get(), buffer_.get() + begin_, kept);
    buffer_ = std::move(larger);
    room_ = room;
  } else if (kept > 0) {
    std::memmove(buffer_.get(), buffer_.get() + begin_, kept);
  }
  begin_ = 0;
  end_ = kept;
  const std::size_t size = in_.read(buffer_.get() + end_, room_ - end_ - kPadding);
  end_ += size;
  return size > 0;
}

}  // namespace foreshard::traces
