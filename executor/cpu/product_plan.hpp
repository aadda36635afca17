// How a matrix product is cut into blocks and tasks: computed from its sizes, the threads and the
// workspace alone, so that a test can compute it for machines that nobody has at hand.
//
// A block of b (words of the summed index x columns) is packed into the workspace once, by all threads
// together; then tasks of neighbouring rows of a share it, each packing its own rows, where they must be,
// on its thread's stack. So a's and b's elements are packed as often with many threads as with one, and
// any number of threads finds room. Results whose sum takes several blocks and does not collect in place
// (bf16) collect in fp32 in memory of their own, for as many rows at a time as it has room for.
#pragma once

#include <cstdint>

#include "executor/cpu/simd/table.hpp"

namespace foreshard::executor {

// Floats of a thread's stack for the rows a task packs, with what packing may write past their end.
constexpr std::int64_t kPackingSlack = 32;
constexpr std::int64_t kPackedRowFloats = (64 << 10) + kPackingSlack;

struct ProductPlan {
  using Index = std::int64_t;

  Index depth = 0;         // words of the summed index in a block
  Index columns = 0;       // of a block of b
  Index task_rows = 0;     // rows a task multiplies
  Index task_columns = 0;  // columns of the block it multiplies them with
  bool keeps_sums = false;
  Index rows = 0;  // that collect at a time; all where no sums are kept

  // Floats.
  Index packed_b() const { return columns * depth; }
  Index sums() const { return keeps_sums ? rows * columns : 0; }
};

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
