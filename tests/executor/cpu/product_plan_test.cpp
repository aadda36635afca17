#include "executor/cpu/product_plan.hpp"

#include <algorithm>

#include "executor/cpu/simd/table.hpp"
#include "tests/executor/cpu/kernel_fixture.hpp"

namespace foreshard::executor {
namespace {

using Index = std::int64_t;

constexpr Index kFloats = DeviceTraits{}.matmul_workspace.count / 4;

struct Size {
  Index m, n, k;
};

constexpr Size kSizes[] = {{1, 1, 1},           {1, 128256, 4096},  {512, 384, 384},
                           {512, 4096, 384},    {4096, 384, 512},   {2048, 11008, 4096},
                           {4096, 4096, 11008}, {512, 384, 128256}, {7, 5, 100000}};

Index ceiling(Index n, Index step) {
  return (n + step - 1) / step;
}

// Elements of a and b packed for a whole product.
double packed(const ProductPlan& p, const ProductKernels& k, const Size& s, Index words) {
  const auto steps = static_cast<double>(words);
  const double b = static_cast<double>(ceiling(s.m, p.rows)) * static_cast<double>(s.n) * steps;
  double a = 0;
  for (Index n = 0; n < s.n; n += p.columns) {
    a += static_cast<double>(ceiling(std::min(p.columns, s.n - n), p.task_columns)) *
         static_cast<double>(s.m) * steps;
  }
  return (a + b) * static_cast<double>(k.word_elements);
}

class ProductPlans : public KernelTest {};

TEST_P(ProductPlans, FitIntoTheWorkspace) {
  for (const ProductKernels& kernels : simd_kernels().product) {
    for (const Size& s : kSizes) {
      for (Index threads = 1; threads <= 256; ++threads) {
        const Index words = ceiling(s.k, kernels.word_elements);
        const ProductPlan p = plan_product(kernels, s.m, s.n, words, threads, kFloats);
        ASSERT_LE(p.packed_b(), kFloats) << s.m << " " << s.n << " " << s.k << " " << threads;
        ASSERT_LE(p.task_rows * p.depth + kPackingSlack, kPackedRowFloats);
        ASSERT_EQ(p.depth % kernels.padding, 0);
        ASSERT_EQ(p.columns % kernels.tile_columns, 0);
        ASSERT_EQ(p.task_columns % kernels.tile_columns, 0);
        ASSERT_EQ(p.task_rows % kernels.tile_rows, 0);
        if (p.keeps_sums) {
          ASSERT_EQ(p.rows % p.task_rows, 0);
        }
        // How a sum is cut depends on its length alone.
        ASSERT_EQ(p.depth, plan_product(kernels, 99, 77, words, 3, kFloats).depth);
      }
    }
  }
}

// Large products on up to 64 threads: all have work for more than 0.6 of the time, and together they pack less
// than three times what one thread alone does.
TEST_P(ProductPlans, ScaleToManyThreads) {
  for (const ProductKernels& kernels : simd_kernels().product) {
    for (const Size& s : {Size{2048, 11008, 4096}, {4096, 4096, 11008}, {4096, 4096, 400}}) {
      const Index words = ceiling(s.k, kernels.word_elements);
      const ProductPlan alone = plan_product(kernels, s.m, s.n, words, 1, kFloats);
      for (const Index threads : {2, 4, 8, 12, 16, 24, 32, 64}) {
        SCOPED_TRACE(std::to_string(threads) + " threads, k " + std::to_string(s.k));
        const ProductPlan p = plan_product(kernels, s.m, s.n, words, threads, kFloats);
        const Index tasks =
            ceiling(std::min(s.m, p.rows), p.task_rows) * ceiling(p.columns, p.task_columns);
        const double rounds = static_cast<double>(ceiling(tasks, threads));
        EXPECT_GT(static_cast<double>(tasks) / static_cast<double>(threads) / rounds, 0.6);
        EXPECT_LT(packed(p, kernels, s, words), 3 * packed(alone, kernels, s, words));
        const PackingPieces pieces = cut_packing(kernels, p.columns, p.depth, threads);
        EXPECT_GE(pieces.count(), threads);
        EXPECT_EQ(pieces.words % kernels.padding, 0);
        EXPECT_GE(pieces.per_panel * pieces.words, p.depth);
      }
    }
  }
}

FORESHARD_KERNEL_SUITE(ProductPlans);

}  // namespace
}  // namespace foreshard::executor
