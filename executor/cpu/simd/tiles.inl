// bf16 products on processors that multiply tiles (AMX): 16 rows of 16 pairs of a times 16 pairs of
// 16 columns of b add to 16 x 16 sums in fp32. The panels that PackPairs makes of b are what tiles
// load: a step of a panel is one row of two neighbouring tiles. Products load rows of a where they
// lie when their elements are neighbours; others, the last rows and the last pairs are packed with
// zeros behind them, so that nothing is read past an operand and no zero meets a NaN.
// attention_tiles.inl builds on the same parts.
//
// The including file defines, for tiles numbered 0 to 7:
//   FORESHARD_TILES_BEGIN(), FORESHARD_TILES_END()   around everything below
//   FORESHARD_TILE_ZERO(tile)
//   FORESHARD_TILE_LOAD(tile, address, row_bytes), FORESHARD_TILE_STORE(tile, address, row_bytes)
//   FORESHARD_TILE_DOT(sums, left, right)
// Needs pairs.inl and gemm.inl.

constexpr Index kTileSide = 16;  // rows, words and columns of a tile
constexpr Index kTileBlock = 2 * kTileSide;
constexpr Index kTileDepth = 256;  // words of a block: a panel of b stays in the first-level cache
static_assert(kWidth == kTileSide && kTileColumns == kTileBlock);

// Rows of `words` words, `stride` floats apart, from 16 steps at a time of neighbouring lanes.
FORESHARD_INLINE void turn_steps(const BFloat16* from, Index step_stride, Index lanes,
                                 Index elements, float* to, Index stride) {
  for (Index s = 0; s < up((elements + 1) / 2, kTileSide); s += kTileSide) {
    for (Index lane = 0; lane < lanes; lane += kTileSide) {
      Floats rows[kTileSide];
      for (Index i = 0; i < kTileSide; ++i) {
        const Index element = 2 * (s + i), present = lanes - lane;
        const BFloat16* low = from + element * step_stride + lane;
        Bits word = {};
        if (element < elements) word = bits_of(low, present);
        if (element + 1 < elements) word |= bits_of(low + step_stride, present) << 16;
        rows[i] = reinterpret_cast<Floats>(word);
      }
      transpose(rows);
      for (Index i = 0; i < kTileSide; ++i) store(to + (lane + i) * stride + s, rows[i]);
    }
  }
}

// Rows of a in whole blocks and whole tiles of words, zero where nothing is: `lanes` rows, `stride`
// floats apart.
FORESHARD_INLINE void pack_rows(const BFloat16* from, Index lane_stride, Index step_stride,
                                Index lanes, Index elements, float* to, Index stride) {
  Index present = lanes;
  if (step_stride == 1) {
    copy_rows(from, lane_stride, lanes, elements, to, stride);
  } else {
    turn_steps(from, step_stride, lanes, elements, to, stride);
    present = up(lanes, kTileSide);
  }
  const Index absent = up(lanes, kTileBlock) - present;
  __builtin_memset(to + present * stride, 0,
                   static_cast<std::size_t>(absent * stride) * sizeof(float));
}

// Up to kTileBlock rows of a block as tiles load them: `whole` words from `rows`, and where words
// are left over, one tile of words from `rest`.
struct TileRows {
  const void* rows;
  Index row_bytes, whole;
  const float* rest;  // kTileSide floats a row, or null
};

FORESHARD_INLINE TileRows rows_of(const MatrixProduct& p, const ProductBlock& block, Index m,
                                  Index height, float* packed) {
  const Index first = 2 * block.first_word, elements = least(2 * block.words, p.k - first);
  const BFloat16* a = static_cast<const BFloat16*>(p.a) + m * p.a_row + first * p.a_step;
  const Index padded = up(block.words, kTileSide);
  if (p.a_step == 1 && height == kTileBlock) {
    const Index whole = elements / (2 * kTileSide) * kTileSide, rest = elements - 2 * whole;
    if (rest > 0) copy_rows(a + 2 * whole, p.a_row, height, rest, packed, kTileSide);
    return {a, p.a_row * Index{sizeof(BFloat16)}, whole, rest > 0 ? packed : nullptr};
  }
  pack_rows(a, p.a_row, p.a_step, height, elements, packed, padded);
  return {packed, padded * Index{sizeof(float)}, padded, nullptr};
}

FORESHARD_INLINE void add_tiles(const void* rows, Index row_bytes, const float* panel) {
  constexpr Index kPanelBytes = kTileBlock * Index{sizeof(float)};
  const char* const upper = static_cast<const char*>(rows);
  FORESHARD_TILE_LOAD(4, upper, row_bytes);
  FORESHARD_TILE_LOAD(6, panel, kPanelBytes);
  FORESHARD_TILE_DOT(0, 4, 6);
  FORESHARD_TILE_LOAD(7, panel + kTileSide, kPanelBytes);
  FORESHARD_TILE_DOT(1, 4, 7);
  FORESHARD_TILE_LOAD(5, upper + kTileSide * row_bytes, row_bytes);
  FORESHARD_TILE_DOT(2, 5, 6);
  FORESHARD_TILE_DOT(3, 5, 7);
}

// sums[32][32] (+)= rows x panel.
FORESHARD_INLINE void multiply_tiles(const TileRows& a, const float* panel, float* sums,
                                     Index stride, bool accumulate) {
  const Index bytes = stride * Index{sizeof(float)};
  float* const lower = sums + kTileSide * stride;
  if (accumulate) {
    FORESHARD_TILE_LOAD(0, sums, bytes);
    FORESHARD_TILE_LOAD(1, sums + kTileSide, bytes);
    FORESHARD_TILE_LOAD(2, lower, bytes);
    FORESHARD_TILE_LOAD(3, lower + kTileSide, bytes);
  } else {
    FORESHARD_TILE_ZERO(0);
    FORESHARD_TILE_ZERO(1);
    FORESHARD_TILE_ZERO(2);
    FORESHARD_TILE_ZERO(3);
  }
  const char* const rows = static_cast<const char*>(a.rows);
  for (Index s = 0; s < a.whole; s += kTileSide) {
    add_tiles(rows + s * Index{sizeof(float)}, a.row_bytes, panel + s * kTileBlock);
  }
  if (a.rest != nullptr) {
    add_tiles(a.rest, kTileSide * Index{sizeof(float)}, panel + a.whole * kTileBlock);
  }
  FORESHARD_TILE_STORE(0, sums, bytes);
  FORESHARD_TILE_STORE(1, sums + kTileSide, bytes);
  FORESHARD_TILE_STORE(2, lower, bytes);
  FORESHARD_TILE_STORE(3, lower + kTileSide, bytes);
}

// c[rows][columns] (+)= a x panel, where c ends: whole blocks stand where they belong.
FORESHARD_INLINE void multiply_tiles_into(const TileRows& a, const float* panel, float* c,
                                          Index stride, Index rows, Index columns,
                                          bool accumulate) {
  if (rows == kTileBlock && columns == kTileBlock) {
    return multiply_tiles(a, panel, c, stride, accumulate);
  }
  alignas(64) float sums[kTileBlock * kTileBlock];
  multiply_tiles(a, panel, sums, kTileBlock, false);
  finish_sums(TileTarget<float>{c, stride, nullptr, accumulate}, sums, kTileBlock, rows, columns);
}

// A panel's words in whole tiles: those that do not exist are zero.
FORESHARD_INLINE void fill_tiles(float* panel, Index words) {
  const Index rest = up(words, kTileSide) - words;
  __builtin_memset(panel + words * kTileBlock, 0,
                   static_cast<std::size_t>(rest * kTileBlock) * sizeof(float));
}

void pack_tile_columns(const MatrixProduct& p, Index n_begin, Index n_end, Index first, Index words,
                       float* to) {
  pack_columns<PackPairs>(p, n_begin, n_end, first, words, to);
  fill_tiles(to, words);
}

void multiply_tile_rows(const MatrixProduct& p, const ProductBlock& block, Index m_begin,
                        Index m_end, Index n_begin, Index n_end, float* packed_a) {
  alignas(64) float own_sums[kTileBlock * kTileBlock];
  const Index padded = up(block.words, kTileSide);
  FORESHARD_TILES_BEGIN();
  for (Index m = m_begin; m < m_end; m += kTileBlock) {
    const Index height = least(kTileBlock, m_end - m);
    const TileRows rows = rows_of(p, block, m, height, packed_a);
    for (Index n = n_begin; n < n_end; n += kTileBlock) {
      const Index column = n - block.n_begin;
      float* const sums = block.sums == nullptr
                              ? own_sums
                              : block.sums + (m - block.sums_begin) * block.n_stride + column;
      const Index stride = block.sums == nullptr ? kTileBlock : block.n_stride;
      multiply_tiles(rows, block.packed_b + column * padded, sums, stride, block.first_word > 0);
      if (block.is_last) {
        finish_sums(target_of<BFloat16>(p, m, n), sums, stride, height,
                    least(kTileBlock, n_end - n));
      }
    }
  }
  FORESHARD_TILES_END();
}

constexpr ProductKernels kTileProduct = {.tile_rows = kTileBlock,
                                         .tile_columns = kTileBlock,
                                         .word_elements = 2,
                                         .depth = kTileDepth,
                                         .padding = kTileSide,
                                         .collects_in_place = false,
                                         .pack = pack_tile_columns,
                                         .multiply = multiply_tile_rows};
