// Time of a matrix product as a GPU's library computes it: the result is cut into tiles, each of which
// one multiprocessor computes; as many as there are multiprocessors run at a time, so that the last
// wave may leave some of them idle. Smaller tiles waste less of that and reach less of the arithmetic's
// rate, for each of their bytes is used less often; where there are few tiles, the inner dimension is
// split over several multiprocessors, whose sums are added up at the end. The library is taken to
// choose the best.
#pragma once

#include <cstdint>

namespace foreshard::simulator {

struct ProductShape {
  double rows = 0, columns = 0, inner = 0;
  double batch = 1;
  bool is_aligned = true;  // rows of all operands begin at multiples of 16 bytes
};

struct ProductMachine {
  double flops_per_ns = 0;  // of large products
  double multiprocessors = 0;
  double tile_rows = 0, tile_columns = 0;  // of large products
};

// Nanoseconds of the arithmetic, without the memory's time and without what starts the kernel.
double product_ns(const ProductShape& shape, const ProductMachine& machine);

}  // namespace foreshard::simulator
