// The arithmetic of reductions, the same for every communicator.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "executor/communication/communicator.hpp"
#include "models/base/dtype.hpp"

namespace foreshard::executor {

// Sums the inputs one after the other in their own type, rounded after every addition, and divides
// by their number for an average. The output may be the last input. NaN in bf16 becomes the quiet
// NaN 0x7fc0, as in PyTorch.
void reduce_in_order(DType type, Reduction reduction, std::span<const std::byte* const> inputs,
                     std::byte* output, std::int64_t count);

// The member whose input is added as the i-th to the slice of `owner`: owner-1, owner-2, ..., owner.
constexpr int summand(int owner, int i, int size) {
  return (owner - 1 - i + 2 * size) % size;
}

// Elements of a buffer.
struct Slice {
  std::int64_t begin = 0, count = 0;
};
struct ByteRange {
  std::int64_t begin = 0, bytes = 0;
};
constexpr ByteRange bytes_of(Slice slice, std::int64_t item_size) {
  return {slice.begin * item_size, slice.count * item_size};
}

// The part of an all-reduce's buffer that one member sums: equal parts, in multiples of 16 elements.
Slice reduced_slice(std::int64_t count, int size, int index);

}  // namespace foreshard::executor
