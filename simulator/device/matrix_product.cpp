#include "simulator/device/matrix_product.hpp"

#include <algorithm>
#include <array>
#include <cmath>

namespace foreshard::simulator {
namespace {

// A tile of half the size on one side needs 1.5 times the bytes for each operation, of a quarter twice
// as many: what kernels of that size lose to it (cuBLAS' kernels on A100 and H100, large products).
struct TileChoice {
  double rows, columns;  // relative to the large tile
  double rate;
};
constexpr std::array kTileChoices{TileChoice{1, 1, 1.0}, TileChoice{1, 0.5, 0.93},
                                  TileChoice{0.5, 1, 0.93}, TileChoice{0.5, 0.5, 0.80},
                                  TileChoice{0.5, 0.25, 0.60}};
constexpr std::array kSplits{1.0, 2.0, 4.0, 8.0};
constexpr double kSplitRate = 0.95;    // what the partial sums leave
constexpr double kPipelineDepth = 96;  // steps of the inner dimension that fill and drain a tile

}  // namespace

double product_ns(const ProductShape& shape, const ProductMachine& machine) {
  const double rate = machine.flops_per_ns / machine.multiprocessors;
  double best = INFINITY;
  for (const TileChoice& choice : kTileChoices) {
    const double rows = machine.tile_rows * choice.rows;
    const double columns = machine.tile_columns * choice.columns;
    const double tiles =
        shape.batch * std::ceil(shape.rows / rows) * std::ceil(shape.columns / columns);
    for (const double split : kSplits) {
      const double inner = shape.inner / split;
      const double waves = std::ceil(tiles * split / machine.multiprocessors);
      const double tile_ns = 2 * rows * columns * (inner + kPipelineDepth) / (rate * choice.rate);
      best = std::min(best, waves * tile_ns / (split > 1 ? kSplitRate : 1));
    }
  }
  return best;
}

}  // namespace foreshard::simulator
