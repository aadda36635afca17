// The inner loops of the kernels, compiled once per instruction set and chosen when the program
// starts. Each entry works on the rows or elements that one thread was given, and no result depends
// on how rows and elements were divided.
//
// Arrays of two hold the fp32 and the bf16 variant (see variant()); arrays over two types are
// indexed [from][to]. bf16 is widened to fp32 on loading and rounded on storing; everything between
// is fp32, except where a comment states that an intermediate result rounds too.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "executor/device/optimizer_scalars.hpp"
#include "executor/device/progress.hpp"
#include "models/base/dtype.hpp"

namespace foreshard::executor {

// c[m,n] (+)= a[m,k] b[k,n] (+ bias[n]); strides in elements, one of each pair is 1.
struct MatrixProduct {
  std::int64_t m = 0, n = 0, k = 0;
  const void* a = nullptr;
  std::int64_t a_row = 0, a_step = 0;
  const void* b = nullptr;
  std::int64_t b_step = 0, b_column = 0;
  void* c = nullptr;
  std::int64_t c_row = 0;
  const void* bias = nullptr;
  bool accumulate = false;
};

// One block of a product: words [first_word, first_word + words) of the summed index, of which
// columns [n_begin, n_end) of b are packed in panels. `sums` collects the blocks of rows from
// sums_begin on in fp32, `n_stride` apart, where c cannot.
struct ProductBlock {
  std::int64_t first_word = 0, words = 0;
  bool is_last = false;  // of the summed index
  std::int64_t n_begin = 0, n_end = 0;
  const float* packed_b = nullptr;
  float* sums = nullptr;
  std::int64_t sums_begin = 0, n_stride = 0;
};

// The two halves of a product for one type, and what their blocks must obey (see product_plan.hpp).
// A word is what one step takes of a row: an element or a pair of bf16.
struct ProductKernels {
  using Index = std::int64_t;

  Index tile_rows, tile_columns;  // of a register tile
  Index word_elements;
  Index depth;             // most words of a block
  Index padding;           // packed panels and rows are zero up to a multiple of so many words
  bool collects_in_place;  // c is fp32: it may hold sums between blocks

  // Packs words [first, first + words) of columns [n_begin, n_end), at most one panel of them, of
  // which `to` holds the rest already.
  void (*pack)(const MatrixProduct&, Index n_begin, Index n_end, Index first, Index words,
               float* to);
  // Rows [m_begin, m_end) times columns [n_begin, n_end) of the block; n_begin starts a panel.
  // `packed_a` has room for these rows of the block.
  void (*multiply)(const MatrixProduct&, const ProductBlock&, Index m_begin, Index m_end,
                   Index n_begin, Index n_end, float* packed_a);
};

// Operands of attention and its backward, laid out as models/program/operators.hpp defines. Forward reads q, k
// and v and writes out and lse. Backward fills delta, and collects the gradients of keys and values
// in dk_sum and dv_sum, which for fp32 are dk and dv themselves. Probabilities and the gradients of
// scores are fp32 as well, except where bf16 is multiplied as it is: there both are rounded. A token sees the
// `window` tokens that end with it, as far as there are so many.
struct AttentionOperands {
  std::int64_t batch = 0, sequence = 0, heads = 0, kv_heads = 0, head_dim = 0, window = 0;
  const void *q = nullptr, *k = nullptr, *v = nullptr;
  void* out = nullptr;
  float* lse = nullptr;
  const void* dout = nullptr;
  void *dq = nullptr, *dk = nullptr, *dv = nullptr;
  float *delta = nullptr, *dk_sum = nullptr, *dv_sum = nullptr;
};

// The longest head whose tiles attention has room for.
constexpr std::int64_t kLongestHead = 1024;

// Queries and keys of one tile of attention; a multiple of every tile_columns.
constexpr std::int64_t attention_tile(std::int64_t head_dim) {
  return head_dim <= 128 ? 96 : head_dim <= 256 ? 64 : 32;
}

struct SimdKernels {
  using Index = std::int64_t;

  std::string_view name;
  ProductKernels product[2];

  // The `tile`-th attention_tile() of queries of one head; all of one key/value head of a sequence.
  void (*attention[2])(const AttentionOperands&, Index sequence, Index head, Index tile);
  void (*attention_backward[2])(const AttentionOperands&, Index sequence, Index kv_head);
  // The same gradients, bit for bit, in two passes of smaller tasks: of a tile of a head's queries,
  // and when all of those are done of a tile of a key/value head's keys.
  void (*attention_query_gradients[2])(const AttentionOperands&, Index sequence, Index head,
                                       Index tile);
  void (*attention_key_gradients[2])(const AttentionOperands&, Index sequence, Index kv_head,
                                     Index tile);

  void (*rms_norm[2])(const void* x, const void* w, void* y, float* rstd, Index rows, Index width,
                      float eps);
  // dw_sum[width] is overwritten with these rows' share of the weight's gradient.
  void (*rms_norm_backward[2])(const void* dy, const void* x, const void* w, const float* rstd,
                               void* dx, float* dw_sum, Index rows, Index width, bool accumulate);

  // Rotates rows [begin, end) of x[.., heads, head_dim] by table; backwards when sign is -1.
  void (*rope[2])(void* x, const float* table, Index begin, Index end, Index sequence, Index heads,
                  Index head_dim, float sign);

  void (*swiglu[2])(const void* gate, const void* up, void* out, Index n);
  void (*swiglu_backward[2])(const void* dout, void* gate, void* up, Index n);

  void (*cross_entropy[2])(const void* logits, float* lse, Index rows, Index width);
  void (*cross_entropy_backward[2])(void* logits, const std::int32_t* targets, const float* lse,
                                    Index rows, Index width, float scale);

  // out[columns] = sum over rows of x, whose rows are `stride` elements apart.
  void (*sum_rows[2])(const void* x, Index rows, Index stride, Index columns, void* out);
  double (*sum_of_squares[2])(const void* x, Index n);

  void (*cast[2][2])(const void* from, void* to, Index n);
  void (*add[2][2])(const void* from, void* to, Index n);
  // out = (left + right) / by, where the sum is rounded, too; `out` may be either of them.
  void (*add_and_divide[2])(const void* left, const void* right, void* out, Index n, float by);

  // [gradient][parameter][state] and [gradient][parameter].
  void (*adamw[2][2][2])(const void* gradient, void* parameter, void* exp_avg, void* exp_avg_sq,
                         Index n, const AdamwScalars&);
  void (*sgd[2][2])(const void* gradient, void* parameter, Index n, const SgdScalars&);
};

// Those of instruction_set(), unless use_simd_kernels named others.
const SimdKernels& simd_kernels();

// Those this processor can run, the fastest first.
std::span<const SimdKernels* const> available_simd_kernels();

// For tests and benchmarks: run with `kernels` from now on; not while kernels are running.
void use_simd_kernels(const SimdKernels& kernels);

constexpr std::size_t variant(DType type) {
  return type == DType::bf16 ? 1 : 0;
}

}  // namespace foreshard::executor
