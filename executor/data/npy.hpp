// The header of a NumPy .npy file that holds a one-dimensional array of integers.
//
// Versions 1 to 3: "\x93NUMPY", two version bytes, the header's length (2 bytes little-endian, from
// version 2 on 4), then a Python dict literal with exactly descr, fortran_order and shape.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "executor/data/tokens.hpp"
#include "models/base/error.hpp"

namespace foreshard::executor {

struct NpyArray {
  TokenType type = TokenType::u8;
  bool byte_swapped = false;
  std::int64_t length = 0;
  std::size_t data_offset = 0;
};

// A whole file's bytes; the array is known to lie inside them. `file` is used in messages only.
Result<NpyArray> parse_npy(std::span<const std::byte> bytes, const std::string& file);

}  // namespace foreshard::executor
