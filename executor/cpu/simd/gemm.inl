// Matrix products of any size, block by block (see product_plan.hpp). Operands are packed in the
// order in which tiles read them, by a packing policy: fp32 and, where the processor has no
// arithmetic for it, bf16 as fp32 elements; elsewhere bf16 as pairs. The summed index is cut into
// blocks that depend on its length alone, so every element is summed in the same order whatever the
// thread count.
//
// fp32 results collect their blocks in place. bf16 results whose sum takes more than one block
// collect them in fp32 elsewhere and round once at the end. Needs pack.inl.

constexpr Index kDepth = 400;  // words of the longest block of the summed index

// Elements widened to fp32.
template <class T>
struct PackElements {
  using Element = T;
  using Words = SingleElements;
  static constexpr Index kWordElements = 1;
  // Whether rows of a consist of words as tiles take them.
  static bool has_words(const MatrixProduct& p) {
    return sizeof(T) == sizeof(float) && p.a_step == 1;
  }
  template <int kPanel>
  static FORESHARD_INLINE void pack_panels(const T* from, Index lane_stride, Index step_stride,
                                           Index lanes, Index elements, float* to) {
    pack<kPanel>(from, lane_stride, step_stride, lanes, elements, to);
  }
};

// Rows of a, `a_row` floats apart, times packed b (panels of kTileColumns).
template <class Rows, class C>
FORESHARD_INLINE void multiply_panels(Index m, Index n, Index steps, const Rows& a, Index a_row,
                                      const float* b, TileTarget<C> target) {
  C* const c = target.c;
  const C* const bias = target.bias;
  for (Index j = 0; j < n; j += kTileColumns) {
    target.bias = bias == nullptr ? nullptr : bias + j;
    for (Index i = 0; i < m; i += kTileRows) {
      target.c = c + i * target.row_stride + j;
      Rows rows = a;
      rows.base += i * a_row;
      multiply_rows(static_cast<int>(least(kTileRows, m - i)), steps, rows, b + j * steps,
                    kTileColumns, target, n - j, std::make_integer_sequence<int, kTileRows>{});
    }
  }
}

template <class Policy>
void pack_columns(const MatrixProduct& p, Index n_begin, Index n_end, Index first, Index words,
                  float* to) {
  using T = typename Policy::Element;
  constexpr Index kWord = Policy::kWordElements;
  Policy::template pack_panels<kTileColumns>(
      static_cast<const T*>(p.b) + n_begin * p.b_column + first * kWord * p.b_step, p.b_column,
      p.b_step, n_end - n_begin, least(words * kWord, p.k - first * kWord), to);
}

// Rounds complete sums into c.
template <class T>
FORESHARD_INLINE void finish_sums(const TileTarget<T>& target, const float* sums, Index stride,
                                  Index rows, Index columns) {
  for (Index i = 0; i < rows; ++i) {
    sweep(columns, [&](Index j, auto extent) {
      finish(target, i, j, load(sums + i * stride + j, extent), extent);
    });
  }
}

// Where rows from m and columns from n of c go once their sums are complete.
template <class T>
FORESHARD_INLINE TileTarget<T> target_of(const MatrixProduct& p, Index m, Index n) {
  return {static_cast<T*>(p.c) + m * p.c_row + n, p.c_row,
          p.bias == nullptr ? nullptr : static_cast<const T*>(p.bias) + n, p.accumulate};
}

// Rows [m_begin, m_end) of the block, wherever its words are: `a` is at the first, rows are `a_row` floats apart.
template <class T, class Rows>
FORESHARD_INLINE void multiply_rows_of_block(const MatrixProduct& p, const ProductBlock& block,
                                             Index m_begin, Index m_end, Index n_begin, Index n_end,
                                             const Rows& a, Index a_row) {
  const Index height = m_end - m_begin, width = n_end - n_begin;
  const float* const packed_b = block.packed_b + (n_begin - block.n_begin) * block.words;
  TileTarget<T> target = target_of<T>(p, m_begin, n_begin);
  if (block.sums == nullptr) {
    target.accumulate |= block.first_word > 0;
    if (!block.is_last) target.bias = nullptr;
    return multiply_panels(height, width, block.words, a, a_row, packed_b, target);
  }
  float* const sums =
      block.sums + (m_begin - block.sums_begin) * block.n_stride + (n_begin - block.n_begin);
  multiply_panels(height, width, block.words, a, a_row, packed_b,
                  TileTarget<float>{sums, block.n_stride, nullptr, block.first_word > 0});
  if (block.is_last) finish_sums(target, sums, block.n_stride, height, width);
}

// Rows whose words are there already are multiplied where they lie, unless a tile's rows would be in each
// other's way in the first-level cache.
template <class Policy>
void multiply_block_rows(const MatrixProduct& p, const ProductBlock& block, Index m_begin,
                         Index m_end, Index n_begin, Index n_end, float* packed_a) {
  using T = typename Policy::Element;
  using Words = typename Policy::Words;
  constexpr Index kWord = Policy::kWordElements;
  constexpr Index kCacheStride = 4096 / sizeof(T);  // elements at equal places of the cache's ways
  const Index first = block.first_word * kWord;
  const T* const a = static_cast<const T*>(p.a) + m_begin * p.a_row + first * p.a_step;
  if (Policy::has_words(p) && p.a_row % kCacheStride != 0) {
    const Index row = p.a_row / kWord;
    return multiply_rows_of_block<T>(p, block, m_begin, m_end, n_begin, n_end,
                                     Strided<Words>{reinterpret_cast<const float*>(a), row, 1},
                                     row);
  }
  Policy::template pack_panels<kTileRows>(a, p.a_row, p.a_step, m_end - m_begin,
                                          least(block.words * kWord, p.k - first), packed_a);
  multiply_rows_of_block<T>(p, block, m_begin, m_end, n_begin, n_end, Packed<Words>{packed_a},
                            block.words);
}

template <class Policy>
constexpr ProductKernels kProduct = {
    .tile_rows = kTileRows,
    .tile_columns = kTileColumns,
    .word_elements = Policy::kWordElements,
    .depth = kDepth,
    .padding = 1,
    .collects_in_place = sizeof(typename Policy::Element) == sizeof(float),
    .pack = pack_columns<Policy>,
    .multiply = multiply_block_rows<Policy>};
