// The arithmetic of reductions, the same for every communicator.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "executor/communication/communicator.hpp"
#include "models/base/dtype.hpp"

namespace foreshard::executor {

// Sums the inputs one after the other in their own type, rounded after every addition, and divides
// the sum of several by the divisor, where that is not 1. The output may be any of the inputs. NaN in
// bf16 becomes the quiet NaN 0x7fc0, as in PyTorch.
void reduce_in_order(DType type, std::span<const std::byte* const> inputs, std::byte* output,
                     std::int64_t count, int divisor);

// Of what all members have.
constexpr int divisor_of(Reduction reduction, int members) {
  return reduction == Reduction::average ? members : 1;
}

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
