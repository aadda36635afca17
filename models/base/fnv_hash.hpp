// FNV-1a over 64-bit words: tells contents apart that nobody forges.
#pragma once

#include <cstdint>
#include <string_view>

namespace foreshard {

class FnvHash {
 public:
  void add(std::uint64_t value) { state_ = (state_ ^ value) * 0x100000001B3ull; }
  void add(std::string_view text) {
    for (const char c : text) add(static_cast<std::uint64_t>(static_cast<unsigned char>(c)));
  }
  std::uint64_t value() const { return state_; }

 private:
  std::uint64_t state_ = 0xCBF29CE484222325ull;
};

}  // namespace foreshard
