// Tiles of matrix products in registers: kTileRows rows by kTileVectors vectors of c stay in
// registers while the summed index runs; each step broadcasts one element of a per row and loads
// kTileVectors vectors of b. Needs vector.inl, kTileRows and kTileVectors.

constexpr int kTileColumns = kTileVectors * kWidth;

// What a step multiplies: words of one element (pairs.inl has those of two).
struct SingleElements {
  static FORESHARD_INLINE Floats spread(const float* element) { return broadcast(*element); }
  static FORESHARD_INLINE Floats add_product(Floats sum, Floats left, Floats right) {
    return sum + left * right;
  }
};

// How word (row, step) of `a` is found, and what one step adds to a tile. Packed: panels of kTileRows
// rows, step by step.
template <class Words>
struct Packed : Words {
  const float* base;
  explicit Packed(const float* start) : base(start) {}
  static constexpr Index offset(Index row) { return row; }
  static constexpr Index step() { return kTileRows; }
};
template <class Words>
struct Strided : Words {
  const float* base;
  Index row_stride, step_stride;
  Strided(const float* start, Index row_distance, Index step_distance)
      : base(start), row_stride(row_distance), step_stride(step_distance) {}
  FORESHARD_INLINE Index offset(Index row) const { return row * row_stride; }
  FORESHARD_INLINE Index step() const { return step_stride; }
};

// Where a tile goes: c = [c +] tile [+ bias], rounded once to C.
template <class C>
struct TileTarget {
  C* c;
  Index row_stride;
  const C* bias;  // of the tile's first column, or null
  bool accumulate;
};

template <class C, class Extent>
FORESHARD_INLINE void finish(const TileTarget<C>& target, Index row, Index column, Floats x,
                             Extent extent) {
  C* c = target.c + row * target.row_stride + column;
  if (target.bias != nullptr) x += load(target.bias + column, extent);
  if (target.accumulate) x += load(c, extent);
  store(c, x, extent);
}

// One tile of kRows <= kTileRows rows and `columns` <= kTileColumns columns; b must be readable
// over the whole width. Structures come by reference: copied by vectors, as calls by value do, what was
// just written word by word must be in the cache first, behind the tile before.
template <Index kRows, class Rows, class C>
__attribute__((noinline)) void multiply_tile(Index steps, const Rows& a, const float* b,
                                             Index b_step, const TileTarget<C>& target,
                                             Index columns) {
  for (Index i = 0; i < kRows; ++i) __builtin_prefetch(target.c + i * target.row_stride, 1);
  Rows rows = a;
  Floats tile[std::size_t{kRows}][kTileVectors] = {};
  for (Index s = 0; s < steps; ++s) {
    Floats right[kTileVectors];
    for (Index j = 0; j < kTileVectors; ++j) right[j] = load(b + j * kWidth);
#pragma GCC unroll 16
    for (Index i = 0; i < kRows; ++i) {
      const Floats left = Rows::spread(rows.base + rows.offset(i));
      for (Index j = 0; j < kTileVectors; ++j)
        tile[i][j] = Rows::add_product(tile[i][j], left, right[j]);
    }
    rows.base += rows.step();
    b += b_step;
  }
  if (columns >= kTileColumns && target.bias == nullptr) {
    if (target.accumulate) {
#pragma GCC unroll 16
      for (Index i = 0; i < kRows; ++i) {
        C* c = target.c + i * target.row_stride;
        for (Index j = 0; j < kTileVectors; ++j) {
          store(c + j * kWidth, load(c + j * kWidth) + tile[i][j]);
        }
      }
    } else {
#pragma GCC unroll 16
      for (Index i = 0; i < kRows; ++i) {
        C* c = target.c + i * target.row_stride;
        for (Index j = 0; j < kTileVectors; ++j) store(c + j * kWidth, tile[i][j]);
      }
    }
    return;
  }
  // Edges and biases go through memory, which leaves the tile above in registers.
  float rest[std::size_t{kRows}][kTileColumns];
#pragma GCC unroll 16
  for (Index i = 0; i < kRows; ++i) {
    for (Index j = 0; j < kTileVectors; ++j) store(rest[i] + j * kWidth, tile[i][j]);
  }
  for (Index i = 0; i < kRows; ++i) {
    sweep(columns < kTileColumns ? columns : kTileColumns,
          [&](Index j, auto extent) { finish(target, i, j, load(rest[i] + j), extent); });
  }
}

template <class Rows, class C, int... I>
FORESHARD_INLINE void multiply_rows(int rows, Index steps, const Rows& a, const float* b,
                                    Index b_step, const TileTarget<C>& target, Index columns,
                                    std::integer_sequence<int, I...>) {
  using Kernel = void (*)(Index, const Rows&, const float*, Index, const TileTarget<C>&, Index);
  static constexpr Kernel kernels[] = {multiply_tile<I + 1, Rows, C>...};
  kernels[rows - 1](steps, a, b, b_step, target, columns);
}

// c[m,n] (+)= a[m,steps] b[steps,n] of small blocks that lie in cache; rows of b must be readable
// up to the next multiple of kTileColumns.
template <class Rows, class C>
FORESHARD_INLINE void multiply_block(Index m, Index n, Index steps, Rows a, Index a_row,
                                     const float* b, Index b_step, C* c, Index c_row,
                                     bool accumulate) {
  for (Index j = 0; j < n; j += kTileColumns) {
    for (Index i = 0; i < m; i += kTileRows) {
      const int rows = static_cast<int>(m - i < kTileRows ? m - i : kTileRows);
      Rows panel = a;
      panel.base += i * a_row;
      multiply_rows(rows, steps, panel, b + j, b_step,
                    TileTarget<C>{c + i * c_row + j, c_row, nullptr, accumulate}, n - j,
                    std::make_integer_sequence<int, kTileRows>{});
    }
  }
}
