// Tiles as Intel's manual describes them: eight of 16 rows of 64 bytes, TDPBF16PS adding the products
// of the even and of the odd elements of 16 pairs apart and then both to the sum. Subnormal numbers
// count as zero, in and out. Using tiles that were not configured, or leaving them configured, fails.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <stdexcept>

#include "models/base/float_formats.hpp"

namespace foreshard::executor {

inline float without_subnormals(float x) {
  return std::fpclassify(x) == FP_SUBNORMAL ? std::copysign(0.0F, x) : x;
}

// sum + the products of 16 pairs, as one row and column of TDPBF16PS.
inline float add_tile_products(float sum, const std::uint16_t* left, const std::uint16_t* right,
                               std::int64_t right_stride) {
  float halves[2] = {0, 0};
  for (int pair = 0; pair < 16; ++pair) {
    for (int half = 0; half < 2; ++half) {
      const float x = without_subnormals(bf16_to_float(left[2 * pair + half]));
      const float y = without_subnormals(bf16_to_float(right[pair * right_stride + half]));
      halves[half] = without_subnormals(std::fma(x, y, halves[half]));
    }
  }
  return without_subnormals(without_subnormals(sum) + without_subnormals(halves[0] + halves[1]));
}

class SoftwareTiles {
 public:
  static SoftwareTiles& of_this_thread() {
    thread_local SoftwareTiles tiles;
    return tiles;
  }

  void configure() {
    require(!is_configured_);
    is_configured_ = true;
    std::memset(tiles_, 0xff, sizeof tiles_);
  }
  void release() {
    require(is_configured_);
    is_configured_ = false;
  }
  bool is_configured() const { return is_configured_; }
  std::int64_t dots() const { return dots_; }  // of this thread so far

  void zero(int tile) {
    require(is_configured_);
    std::memset(tiles_[tile], 0, sizeof tiles_[tile]);
  }
  void load(int tile, const void* from, std::int64_t row_bytes) {
    require(is_configured_);
    for (int row = 0; row < kRows; ++row) {
      std::memcpy(tiles_[tile][row], static_cast<const char*>(from) + row * row_bytes, kRowBytes);
    }
  }
  void store(int tile, void* to, std::int64_t row_bytes) const {
    require(is_configured_);
    for (int row = 0; row < kRows; ++row) {
      std::memcpy(static_cast<char*>(to) + row * row_bytes, tiles_[tile][row], kRowBytes);
    }
  }
  void dot(int sums, int left, int right) {
    require(is_configured_);
    ++dots_;
    for (int row = 0; row < kRows; ++row) {
      std::uint16_t pairs[32], columns[kRows][32];
      std::memcpy(pairs, tiles_[left][row], sizeof pairs);
      std::memcpy(columns, tiles_[right], sizeof columns);
      for (int column = 0; column < 16; ++column) {
        float sum = 0;
        std::byte* const at = tiles_[sums][row] + 4 * column;
        std::memcpy(&sum, at, sizeof sum);
        sum = add_tile_products(sum, pairs, &columns[0][2 * column], 32);
        std::memcpy(at, &sum, sizeof sum);
      }
    }
  }

 private:
  static constexpr int kRows = 16, kRowBytes = 64;

  static void require(bool holds) {
    if (!holds) throw std::logic_error("tiles are used unconfigured, or configured twice");
  }

  bool is_configured_ = false;
  std::int64_t dots_ = 0;
  std::byte tiles_[8][kRows][kRowBytes] = {};
};

}  // namespace foreshard::executor
