// Lines of a file of any size, each with the bytes behind it that simdjson may touch. Only for the
// sources of this folder.
#pragma once

#include <cstddef>
#include <cstring>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

namespace foreshard::traces {

class LineReader {
 public:
  static constexpr std::size_t kPadding = 64;
  static constexpr std::size_t kLongest = std::size_t{64} << 20;  // longer lines end early

  explicit LineReader(const std::string& path) : file_(path, std::ios::binary), buffer_(kChunk) {}

  bool is_open() const { return file_.is_open(); }

  // The next line without its end, until the next call; false at the end of the file.
  bool next(std::string_view& line) {
    for (std::size_t searched = 0;;) {
      const char* const start = buffer_.data() + begin_;
      const void* const end = std::memchr(start + searched, '\n', end_ - begin_ - searched);
      if (end != nullptr) {
        const auto length = static_cast<std::size_t>(static_cast<const char*>(end) - start);
        line = {start, length};
        begin_ += length + 1;
        return true;
      }
      searched = end_ - begin_;
      if (searched >= kLongest || !fill()) {
        line = {buffer_.data() + begin_, end_ - begin_};
        begin_ = end_;
        return !line.empty();
      }
    }
  }

 private:
  static constexpr std::size_t kChunk = std::size_t{1} << 18;

  bool fill() {
    if (!file_) return false;
    std::memmove(buffer_.data(), buffer_.data() + begin_, end_ - begin_);
    end_ -= begin_;
    begin_ = 0;
    if (buffer_.size() < end_ + kChunk / 2 + kPadding) buffer_.resize(2 * buffer_.size());
    file_.read(buffer_.data() + end_,
               static_cast<std::streamsize>(buffer_.size() - end_ - kPadding));
    end_ += static_cast<std::size_t>(file_.gcount());
    return file_.gcount() > 0;
  }

  std::ifstream file_;
  std::vector<char> buffer_;
  std::size_t begin_ = 0, end_ = 0;
};

}  // namespace foreshard::traces
