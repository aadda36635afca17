// The bytes of a pickle as its opcodes read them: counted parts, little-endian numbers, lines. Whoever
// reads beyond the end gets nothing, and the input remembers that it ended early.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace foreshard::traces {

class PickleInput {
 public:
  explicit PickleInput(std::string_view bytes) : bytes_(bytes) {}

  bool ended_early() const { return ended_early_; }
  std::size_t position() const { return at_; }

  std::optional<std::string_view> take(std::uint64_t n) {
    if (n > bytes_.size() - at_) {
      ended_early_ = true;
      return std::nullopt;
    }
    const auto part = bytes_.substr(at_, n);
    at_ += n;
    return part;
  }

  // Little-endian, unsigned, of at most 8 bytes.
  std::optional<std::uint64_t> number(std::size_t bytes) {
    const auto part = take(bytes);
    if (!part) return std::nullopt;
    std::uint64_t n = 0;
    for (std::size_t i = bytes; i-- > 0;) n = n << 8 | static_cast<unsigned char>((*part)[i]);
    return n;
  }

  // Up to the next newline, without it.
  std::optional<std::string_view> line() {
    const auto end = bytes_.find('\n', at_);
    if (end == std::string_view::npos) {
      ended_early_ = true;
      return std::nullopt;
    }
    const auto part = bytes_.substr(at_, end - at_);
    at_ = end + 1;
    return part;
  }

 private:
  std::string_view bytes_;
  std::size_t at_ = 0;
  bool ended_early_ = false;
};

// The name of an opcode that would run or import something, or that is not plain data;
// null for all others.
const char* forbidden_opcode(unsigned char opcode);

// Text as protocol 0 writes it: on a line of its own, with Python's escapes.
std::string unescape_pickle_text(std::string_view line);

}  // namespace foreshard::traces
