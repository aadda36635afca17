// Linear layers: y = x w' (+ bias) and its gradients, as products of strided operands.
#include <algorithm>
#include <vector>

#include "executor/cpu/operands.hpp"
#include "executor/cpu/product_plan.hpp"

namespace foreshard::executor {
namespace {

// The sums of the product that this thread runs: as much memory as any one has needed.
std::vector<float>& sums_of_this_thread() {
  thread_local std::vector<float> sums;
  return sums;
}

// A product's blocks, and the tasks that fill and use them.
class Blocks {
 public:
  Blocks(const KernelArguments& a, const MatrixProduct& product)
      : product_(product),
        kernels_(simd_kernels().product[variant(a.key.dtype)]),
        workers_(a.workers),
        words_(ceil_divide(product.k, kernels_.word_elements)),
        plan_(plan_product(kernels_, product.m, product.n, words_, a.workers.threads(),
                           static_cast<std::int64_t>(a.writes.back().size() / sizeof(float)))),
        packed_b_(reinterpret_cast<float*>(a.writes.back().data())),
        sums_(sums_of_this_thread()) {
    if (std::ssize(sums_) < plan_.sums()) sums_.resize(static_cast<std::size_t>(plan_.sums()));
  }

  void run() {
    for (std::int64_t n = 0; n < product_.n; n += plan_.columns) {
      for (std::int64_t m = 0; m < product_.m; m += plan_.rows) {
        for (std::int64_t k = 0; k < words_; k += plan_.depth) {
          ProductBlock block{.first_word = k, .words = std::min(plan_.depth, words_ - k)};
          block.is_last = k + block.words == words_;
          block.n_begin = n, block.n_end = std::min(product_.n, n + plan_.columns);
          block.packed_b = packed_b_;
          block.sums = plan_.keeps_sums ? sums_.data() : nullptr;
          block.sums_begin = m, block.n_stride = plan_.columns;
          pack(block);
          multiply(block, m, std::min(product_.m, m + plan_.rows));
        }
      }
    }
  }

 private:
  void pack(const ProductBlock& block) {
    const PackingPieces pieces =
        cut_packing(kernels_, block.n_end - block.n_begin, block.words, workers_.threads());
    const std::int64_t panel_words = round_up(block.words, kernels_.padding);
    workers_.run(pieces.count(), [&](std::int64_t piece, int) {
      const std::int64_t panel = piece / pieces.per_panel * kernels_.tile_columns;
      const std::int64_t word = piece % pieces.per_panel * pieces.words;
      const std::int64_t begin = block.n_begin + panel;
      kernels_.pack(product_, begin, std::min(block.n_end, begin + kernels_.tile_columns),
                    block.first_word + word, std::min(pieces.words, block.words - word),
                    packed_b_ + panel * panel_words + word * kernels_.tile_columns);
    });
  }

  void multiply(const ProductBlock& block, std::int64_t m_begin, std::int64_t m_end) {
    const std::int64_t row_tasks = ceil_divide(m_end - m_begin, plan_.task_rows);
    const std::int64_t column_tasks = ceil_divide(block.n_end - block.n_begin, plan_.task_columns);
    workers_.run(row_tasks * column_tasks, [&](std::int64_t task, int) {
      alignas(64) float packed_rows[kPackedRowFloats];
      const std::int64_t m = m_begin + task / column_tasks * plan_.task_rows;
      const std::int64_t n = block.n_begin + task % column_tasks * plan_.task_columns;
      kernels_.multiply(product_, block, m, std::min(m_end, m + plan_.task_rows), n,
                        std::min(block.n_end, n + plan_.task_columns), packed_rows);
    });
  }

  const MatrixProduct& product_;
  const ProductKernels& kernels_;
  WorkerPool& workers_;
  const std::int64_t words_;
  const ProductPlan plan_;
  float* const packed_b_;
  std::vector<float>& sums_;
};

void multiply(const KernelArguments& a, const MatrixProduct& product) {
  Blocks(a, product).run();
}

}  // namespace

void run_matmul(const KernelArguments& a) {
  const auto [T, N, K, has_bias, unused, unused2] = a.key.dims;
  MatrixProduct p{.m = T, .n = N, .k = K};
  p.a = input(a, 0), p.a_row = K, p.a_step = 1;
  p.b = input(a, 1), p.b_step = 1, p.b_column = K;
  p.c = output(a, 0), p.c_row = N;
  if (has_bias != 0) p.bias = input(a, 2);
  multiply(a, p);
}

void run_matmul_input_gradient(const KernelArguments& a) {
  const auto [T, K, N, accumulate, unused, unused2] = a.key.dims;
  MatrixProduct p{.m = T, .n = K, .k = N};
  p.a = input(a, 0), p.a_row = N, p.a_step = 1;
  p.b = input(a, 1), p.b_step = K, p.b_column = 1;
  p.c = output(a, 0), p.c_row = K;
  p.accumulate = accumulate != 0;
  multiply(a, p);
}

void run_matmul_weight_gradient(const KernelArguments& a) {
  const std::int64_t N = a.key.dims[0], K = a.key.dims[1], T = a.key.dims[2];
  MatrixProduct p{.m = N, .n = K, .k = T};
  p.a = input(a, 0), p.a_row = 1, p.a_step = N;
  p.b = input(a, 1), p.b_step = K, p.b_column = 1;
  p.c = output(a, 0), p.c_row = K;
  multiply(a, p);
}

void run_bias_gradient(const KernelArguments& a) {
  const std::int64_t T = a.key.dims[0], N = a.key.dims[1];
  constexpr std::int64_t kColumns = 64;
  const std::int64_t item = item_size(a.key.dtype);
  const SimdKernels& simd = simd_kernels();
  a.workers.run_ranges(N, kColumns, [&](std::int64_t begin, std::int64_t end, int) {
    simd.sum_rows[variant(a.key.dtype)](input(a, 0) + begin * item, T, N, end - begin,
                                        output(a, 0) + begin * item);
  });
}

}  // namespace foreshard::executor
