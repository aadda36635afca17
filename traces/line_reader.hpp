// Lines of a stream of any length, each with the bytes behind it that simdjson may touch. Only for
// the sources of this folder.
#pragma once

#include <cstddef>
#include <cstring>
#include <istream>
#include <memory>
#include <string_view>
#include <utility>

namespace foreshard::traces {

class LineReader {
 public:
  static constexpr std::size_t kPadding = 64;
  static constexpr std::size_t kLongest = std::size_t{64} << 20;  // longer lines end early

  explicit LineReader(std::istream& in) : in_(in) {}

  // The next line without its end, until the next call; false at the end of the stream.
  bool next(std::string_view& line) {
    for (std::size_t searched = 0;;) {
      const char* const start = buffer_.get() + begin_;
      const void* const end = std::memchr(start + searched, '\n', end_ - begin_ - searched);
      if (end != nullptr) {
        const auto length = static_cast<std::size_t>(static_cast<const char*>(end) - start);
        line = {start, length};
        begin_ += length + 1;
        return true;
      }
      searched = end_ - begin_;
      if (searched >= kLongest || !fill()) {
        line = {buffer_.get() + begin_, end_ - begin_};
        begin_ = end_;
        return !line.empty();
      }
    }
  }

 private:
  static constexpr std::size_t kChunk = std::size_t{1} << 18;

  bool fill() {
    if (!in_) return false;
    if (room_ < end_ - begin_ + kChunk / 2 + kPadding) {
      room_ *= 2;
      auto larger = std::make_unique_for_overwrite<char[]>(room_);
      std::memcpy(larger.get(), buffer_.get() + begin_, end_ - begin_);
      buffer_ = std::move(larger);
    } else {
      std::memmove(buffer_.get(), buffer_.get() + begin_, end_ - begin_);
    }
    end_ -= begin_;
    begin_ = 0;
    in_.read(buffer_.get() + end_, static_cast<std::streamsize>(room_ - end_ - kPadding));
    end_ += static_cast<std::size_t>(in_.gcount());
    return in_.gcount() > 0;
  }

  std::istream& in_;
  std::size_t room_ = kChunk;
  std::unique_ptr<char[]> buffer_ = std::make_unique_for_overwrite<char[]>(room_);
  std::size_t begin_ = 0, end_ = 0;
};

}  // namespace foreshard::traces
