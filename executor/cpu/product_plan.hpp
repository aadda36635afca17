// How a matrix product is cut into blocks and tasks: computed from its sizes, the threads and the
// workspace alone, so that a test can compute it for machines that nobody has at hand.
//
// A block of b (words of the summed index x columns) is packed once, by all threads together; then
// tasks of neighbouring rows of a share it, each packing its own rows into its thread's part of the
// workspace. So a's and b's elements are packed as often with many threads as with one. Results
// whose sum takes several blocks and does not collect in place (bf16) collect in fp32 in a block of
// sums, for as many rows at a time as there is room for.
#pragma once

#include <cstdint>

#include "executor/cpu/simd/table.hpp"

namespace foreshard::executor {

struct ProductPlan {
  using Index = std::int64_t;

  Index threads = 1;       // that take part: those whose rows find room
  Index depth = 0;         // words of the summed index in a block
  Index columns = 0;       // of a block of b
  Index rows = 0;          // that collect at a time; all where no sums are kept
  Index task_rows = 0;     // rows a task packs and multiplies
  Index task_columns = 0;  // columns of the block it multiplies them with
  bool keeps_sums = false;
  Index packed_b = 0, packed_a = 0, sums = 0;  // floats; packed_a is one thread's

  Index floats() const { return packed_b + threads * packed_a + sums; }
};

// Floats that packing may write past the end of a thread's rows.
constexpr std::int64_t kPackingSlack = 32;

// For c[m,n] = a[m,k] b[k,n] with k in words. `floats` is the workspace; that of
// DeviceTraits has room for any product.
ProductPlan plan_product(const ProductKernels& kernels, std::int64_t m, std::int64_t n,
                         std::int64_t words, std::int64_t threads, std::int64_t floats);

// How b's columns [0, width) of `words` words are packed by several threads: in pieces of one panel
// and `words` words each.
struct PackingPieces {
  std::int64_t panels = 0, words = 0, per_panel = 0;
  std::int64_t count() const { return panels * per_panel; }
};
PackingPieces cut_packing(const ProductKernels& kernels, std::int64_t width, std::int64_t words,
                          std::int64_t threads);

}  // namespace foreshard::executor
