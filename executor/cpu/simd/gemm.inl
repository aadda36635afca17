// Matrix products of any size: blocks of both operands are packed into the workspace in the order in
// which tiles read them, by a packing policy: fp32 and, where the processor has no arithmetic for
// it, bf16 as fp32 elements; elsewhere bf16 as pairs. A word is what one step of a tile takes of a
// row: an element or a pair. The summed index is cut into blocks that depend on its length alone, so
// every element is summed in the same order whatever the thread count.
//
// fp32 results collect their blocks in place. bf16 results whose sum takes more than one block
// collect them in fp32 in the workspace and round once at the end. Needs pack.inl.

constexpr Index kDepth = 400;  // words of the longest block of the summed index

// Elements widened to fp32.
template <class T>
struct PackElements {
  using Element = T;
  using Rows = PackedRows;
  static constexpr Index kWordElements = 1;
  template <int kPanel>
  static FORESHARD_INLINE void pack_panels(const T* from, Index lane_stride, Index step_stride,
                                           Index lanes, Index elements, float* to) {
    pack<kPanel>(from, lane_stride, step_stride, lanes, elements, to);
  }
};

// Packed a (panels of kTileRows) times packed b (panels of kTileColumns).
template <class Rows, class C>
FORESHARD_INLINE void multiply_packed(Index m, Index n, Index steps, const float* a, const float* b,
                                      TileTarget<C> target) {
  C* const c = target.c;
  const C* const bias = target.bias;
  for (Index j = 0; j < n; j += kTileColumns) {
    target.bias = bias == nullptr ? nullptr : bias + j;
    for (Index i = 0; i < m; i += kTileRows) {
      target.c = c + i * target.row_stride + j;
      multiply_rows(static_cast<int>(least(kTileRows, m - i)), steps, Rows{a + i * steps},
                    b + j * steps, kTileColumns, target, n - j,
                    std::make_integer_sequence<int, kTileRows>{});
    }
  }
}

// Each block of c is finished by one pass over the summed index, or collects in place (fp32).
template <class Policy>
void multiply_direct(const MatrixProduct& p, Index m0, Index m1, Index n0, Index n1, Index depth,
                     float* workspace, Index floats) {
  using T = typename Policy::Element;
  constexpr Index kWord = Policy::kWordElements;
  const Index words = (p.k + kWord - 1) / kWord;
  const T* a = static_cast<const T*>(p.a);
  const T* b = static_cast<const T*>(p.b);
  T* c = static_cast<T*>(p.c);
  const Index columns = block_size(n1 - n0, floats * 5 / 8 / depth, kTileColumns);
  float* const packed_b = workspace;
  float* const packed_a = workspace + columns * depth;
  const Index rows =
      block_size(m1 - m0, (floats - columns * depth - 2 * kWidth) / depth, kTileRows);
  for (Index k = 0; k < words; k += depth) {
    const Index steps = least(depth, words - k), first = k * kWord;
    const Index elements = least(steps * kWord, p.k - first);
    const bool last = k + steps == words;
    for (Index n = n0; n < n1; n += columns) {
      const Index width = least(columns, n1 - n);
      Policy::template pack_panels<kTileColumns>(b + n * p.b_column + first * p.b_step, p.b_column,
                                                 p.b_step, width, elements, packed_b);
      for (Index m = m0; m < m1; m += rows) {
        const Index height = least(rows, m1 - m);
        Policy::template pack_panels<kTileRows>(a + m * p.a_row + first * p.a_step, p.a_row,
                                                p.a_step, height, elements, packed_a);
        const T* bias = p.bias != nullptr && last ? static_cast<const T*>(p.bias) + n : nullptr;
        multiply_packed<typename Policy::Rows>(
            height, width, steps, packed_a, packed_b,
            TileTarget<T>{c + m * p.c_row + n, p.c_row, bias, p.accumulate || k > 0});
      }
    }
  }
}

// Each block of c collects in fp32 in the workspace and is rounded when it is complete.
template <class Policy>
void multiply_staged(const MatrixProduct& p, Index m0, Index m1, Index n0, Index n1, Index depth,
                     float* workspace, Index floats) {
  using T = typename Policy::Element;
  constexpr Index kWord = Policy::kWordElements;
  const Index words = (p.k + kWord - 1) / kWord;
  const T* a = static_cast<const T*>(p.a);
  const T* b = static_cast<const T*>(p.b);
  T* c = static_cast<T*>(p.c);
  // Largest x with x*x + 2*x*depth <= floats: the sum and one block of each operand.
  const double half = static_cast<double>(depth);
  const Index side = static_cast<Index>(
      __builtin_sqrt(half * half + static_cast<double>(floats - 4 * kWidth)) - half);
  const Index columns = block_size(n1 - n0, side, kTileColumns);
  const Index rows =
      block_size(m1 - m0, (floats - 2 * kWidth - columns * depth) / (columns + depth), kTileRows);
  float* const sum_block = workspace;
  float* const packed_b = sum_block + rows * columns;
  float* const packed_a = packed_b + columns * depth;
  for (Index n = n0; n < n1; n += columns) {
    const Index width = least(columns, n1 - n);
    for (Index m = m0; m < m1; m += rows) {
      const Index height = least(rows, m1 - m);
      for (Index k = 0; k < words; k += depth) {
        const Index steps = least(depth, words - k), first = k * kWord;
        const Index elements = least(steps * kWord, p.k - first);
        Policy::template pack_panels<kTileColumns>(b + n * p.b_column + first * p.b_step,
                                                   p.b_column, p.b_step, width, elements, packed_b);
        Policy::template pack_panels<kTileRows>(a + m * p.a_row + first * p.a_step, p.a_row,
                                                p.a_step, height, elements, packed_a);
        multiply_packed<typename Policy::Rows>(
            height, width, steps, packed_a, packed_b,
            TileTarget<float>{sum_block, columns, nullptr, k > 0});
      }
      const TileTarget<T> target{c + m * p.c_row + n, p.c_row,
                                 p.bias == nullptr ? nullptr : static_cast<const T*>(p.bias) + n,
                                 p.accumulate};
      for (Index i = 0; i < height; ++i) {
        sweep(width, [&](Index j, auto extent) {
          finish(target, i, j, load(sum_block + i * columns + j, extent), extent);
        });
      }
    }
  }
}

template <class Policy>
void multiply(const MatrixProduct& p, Index m_begin, Index m_end, Index n_begin, Index n_end,
              std::span<float> workspace) {
  if (m_begin >= m_end || n_begin >= n_end) return;
  constexpr Index kWord = Policy::kWordElements;
  const Index words = (p.k + kWord - 1) / kWord, depth = block_size(words, kDepth, 8);
  const Index floats = static_cast<Index>(workspace.size());
  if (sizeof(typename Policy::Element) == sizeof(float) || words <= depth) {
    multiply_direct<Policy>(p, m_begin, m_end, n_begin, n_end, depth, workspace.data(), floats);
  } else {
    multiply_staged<Policy>(p, m_begin, m_end, n_begin, n_end, depth, workspace.data(), floats);
  }
}
