// The products of bf16 attention on tiles (see attention_products.inl, whose fp32 counterparts have
// the same members). P and dS are rounded once to bf16, as FlashAttention rounds them; every sum,
// that of the softmax included, stays fp32 and takes what was not rounded. With ' for transposed:
//
//   scores[key][query]  = K Q'        K as it lies     times  Q in pairs along the head
//   out'[c][query]     += V' P        V turned         times  P in pairs of neighbouring keys
//   dP[key][query]      = V dO'       V as it lies     times  dO in pairs along the head
//   dv[key][c]         += P dO        P as it lies     times  dO in pairs of neighbouring queries
//   dk[key][c]         += dS Q        dS as it lies    times  Q in pairs of neighbouring queries
//   dq'[c][query]      += K' dS       K turned         times  dS in pairs of neighbouring keys
//
// So P and dS, which are new for every pair of tiles, are never transposed: two of their rows make
// the pairs. What is transposed are the fewer elements of V and K, and out' and dq' once they are
// complete.
//
// Operands are copied with zeros up to whole blocks, and P and dS are zero for keys and queries that
// do not exist: summed over, they add nothing, not even where the other side is not finite. The stack
// takes less than for the fp32 products, but in the backward of heads of up to 32, where P and dS are
// most of it. Needs tiles.inl and attention_pairs.inl.

// Tiles are configured as long as this lives; nothing else in the task may use them meanwhile.
struct TilesInUse {
  TilesInUse() { FORESHARD_TILES_BEGIN(); }
  ~TilesInUse() { FORESHARD_TILES_END(); }
  TilesInUse(const TilesInUse&) = delete;
  TilesInUse& operator=(const TilesInUse&) = delete;
};

// Words a row or panel takes of a summed index: pairs, in whole tiles.
FORESHARD_INLINE Index tile_words(Index elements) {
  return up(elements, kTileBlock) / 2;
}

// Rows `stride` floats apart of `words` words each.
FORESHARD_INLINE TileRows rows_at(const float* rows, Index stride, Index words) {
  return {rows, stride * Index{sizeof(float)}, words, nullptr};
}

// Panels of 32 lanes, each in whole tiles.
FORESHARD_INLINE void pack_tile_panels(const BFloat16* from, Index lane_stride, Index step_stride,
                                       Index lanes, Index elements, float* to) {
  for (Index lane = 0; lane < lanes; lane += kTileBlock) {
    float* const panel = to + lane * tile_words(elements);
    PackPairs::pack_panels<kTileBlock>(from + lane * lane_stride, lane_stride, step_stride,
                                       least(kTileBlock, lanes - lane), elements, panel);
    fill_tiles(panel, (elements + 1) / 2);
  }
}

// scores[key][query] of a panel for the keys it sees, from rows of keys and panels of queries.
FORESHARD_INLINE void score_on_tiles(const float* keys, const float* queries,
                                     const HeadSizes& sizes, Index panel, Index from, Index seen,
                                     float* scores) {
  const Index words = tile_words(sizes.d);
  for (Index key = from; key < seen; key += kTileBlock) {
    multiply_tiles(rows_at(keys + key * words, words, words), queries + panel * words,
                   scores + key * sizes.tile + panel, sizes.tile, false);
  }
}

// Sums over keys turned: sums[c][query] (+)= rows[key][c]' weights[key][query]. `turned` holds rows'.
FORESHARD_INLINE void sum_over_keys_on_tiles(const Queries& queries, const Keys& keys,
                                             const float* turned, const float* weights,
                                             const HeadSizes& sizes, float* pairs, float* sums,
                                             bool accumulate) {
  const Index tile = sizes.tile, stride = tile / 2;
  for (Index panel = 0; panel < queries.count; panel += kTileBlock) {
    const Index seen = keys.visible(queries.first, panel + kTileBlock - 1);
    const Index from = down(keys.passed(queries.first, panel), kTileBlock);
    pair_keys(weights + panel, tile, from, seen, up(seen, kTileBlock), pairs);
    for (Index c = 0; c < sizes.d; c += kTileBlock) {
      const float* const first = turned + c * stride + from / 2;
      multiply_tiles(rows_at(first, stride, tile_words(seen - from)), pairs,
                     sums + c * tile + panel, tile, accumulate);
    }
  }
}

// sums[c][query] as rows[query][c].
FORESHARD_INLINE const float* turn_sums(const Queries& queries, const float* sums,
                                        const HeadSizes& sizes, float* rows) {
  for (Index i = 0; i < queries.count; i += kTileSide) {
    for (Index c = 0; c < sizes.d; c += kTileSide) {
      Floats block[kTileSide];
      for (Index s = 0; s < kTileSide; ++s) block[s] = load(sums + (c + s) * sizes.tile + i);
      transpose(block);
      for (Index s = 0; s < kTileSide; ++s) store(rows + (i + s) * sizes.padded + c, block[s]);
    }
  }
  return rows;
}

struct TileAttention {
  using Element = BFloat16;
  static constexpr Index kKeyStep = kTileBlock;

  TilesInUse tiles_in_use;
  HeadSizes sizes;
  float *scores, *key_rows, *turned_values, *query_panels, *result, *pairs;

  static Index floats(Index head_dim) {
    const HeadSizes sizes(head_dim);
    return sizes.square() + 3 * sizes.block() / 2 + sizes.block() + kTileSide * sizes.tile;
  }
  TileAttention(Stretch stretch, Index head_dim)
      : sizes(head_dim),
        scores(stretch.take(sizes.square())),
        key_rows(stretch.take(sizes.block() / 2)),
        turned_values(stretch.take(sizes.block() / 2)),
        query_panels(stretch.take(sizes.block() / 2)),
        result(stretch.take(sizes.block())),
        pairs(stretch.take(kTileSide * sizes.tile)) {}

  void load_queries(const BFloat16* q, Index stride, Index count) const {
    pack_tile_panels(q, stride, 1, count, sizes.d, query_panels);
  }
  void load_keys(const BFloat16* k, const BFloat16* v, Index stride, Index count) const {
    pack_rows(k, stride, 1, count, sizes.d, key_rows, tile_words(sizes.d));
    pack_rows(v, 1, stride, sizes.d, count, turned_values, sizes.tile / 2);
  }
  void score(Index panel, Index from, Index seen) const {
    score_on_tiles(key_rows, query_panels, sizes, panel, from, seen, scores);
  }
  void rescale(const Queries&, Index i, Floats factors) const {
    for (Index c = 0; c < sizes.d; ++c) {
      float* const x = result + c * sizes.tile + i;
      store(x, load(x) * factors);
    }
  }
  void add_values(const Queries& queries, const Keys& keys, bool accumulate) const {
    sum_over_keys_on_tiles(queries, keys, turned_values, scores, sizes, pairs, result, accumulate);
  }
  // In place of keys and values, which are neighbours.
  const float* result_rows(const Queries& queries) const {
    return turn_sums(queries, result, sizes, key_rows);
  }
};

struct TileGradients {
  using Element = BFloat16;
  static constexpr Index kKeyStep = kTileBlock;

  TilesInUse tiles_in_use;
  HeadSizes sizes;
  float *p, *ds, *rounded_p, *rounded_ds, *pairs;
  float *key_rows, *value_rows, *turned_keys, *query_panels, *dout_panels;
  float *query_pairs, *dout_pairs, *dq;

  static Index floats(Index head_dim) {
    const HeadSizes sizes(head_dim);
    return 3 * sizes.square() + kTileSide * sizes.tile + 7 * sizes.block() / 2 + sizes.block();
  }
  TileGradients(Stretch stretch, Index head_dim)
      : sizes(head_dim),
        p(stretch.take(sizes.square())),
        ds(stretch.take(sizes.square())),
        rounded_p(stretch.take(sizes.square() / 2)),
        rounded_ds(stretch.take(sizes.square() / 2)),
        pairs(stretch.take(kTileSide * sizes.tile)),
        key_rows(stretch.take(sizes.block() / 2)),
        value_rows(stretch.take(sizes.block() / 2)),
        turned_keys(stretch.take(sizes.block() / 2)),
        query_panels(stretch.take(sizes.block() / 2)),
        dout_panels(stretch.take(sizes.block() / 2)),
        query_pairs(stretch.take(sizes.block() / 2)),
        dout_pairs(stretch.take(sizes.block() / 2)),
        dq(stretch.take(sizes.block())) {}

  void load_queries(const BFloat16* q, const BFloat16* dout, Index stride, Index count) const {
    pack_tile_panels(q, stride, 1, count, sizes.d, query_panels);
    pack_tile_panels(dout, stride, 1, count, sizes.d, dout_panels);
    pack_tile_panels(q, 1, stride, sizes.d, count, query_pairs);
    pack_tile_panels(dout, 1, stride, sizes.d, count, dout_pairs);
  }
  void load_keys(const BFloat16* k, const BFloat16* v, Index stride, Index count) const {
    pack_rows(k, stride, 1, count, sizes.d, key_rows, tile_words(sizes.d));
    pack_rows(v, stride, 1, count, sizes.d, value_rows, tile_words(sizes.d));
  }
  void score(Index panel, Index from, Index seen) const {
    score_on_tiles(key_rows, query_panels, sizes, panel, from, seen, p);
    score_on_tiles(value_rows, dout_panels, sizes, panel, from, seen, ds);
  }
  void add_query_gradients(const Queries& queries, const Keys& keys, bool accumulate) const {
    pack_rows(reinterpret_cast<const BFloat16*>(key_rows), 1, sizes.padded, sizes.d, keys.count,
              turned_keys, sizes.tile / 2);
    sum_over_keys_on_tiles(queries, keys, turned_keys, ds, sizes, pairs, dq, accumulate);
  }
  void add_key_gradients(const Queries& queries, const Keys& keys, float* dk, float* dv,
                         Index stride, bool accumulate) const {
    const Index tile = sizes.tile, words = tile_words(queries.count);
    for (Index panel = 0; panel < queries.count; panel += kTileBlock) {
      const Index seen = keys.visible(queries.first, panel + kTileBlock - 1);
      const Index from = down(keys.passed(queries.first, panel), kTileBlock);
      const Index left = queries.count - panel;
      const Index end = up(seen, kTileBlock);
      round_panel(p, tile, panel, from, seen, end, left, rounded_p);
      round_panel(ds, tile, panel, from, seen, end, left, rounded_ds);
    }
    for (Index i = 0; i < keys.count; i += kTileBlock) {
      const Index rows = least(kTileBlock, keys.count - i);
      // The words of the queries that see it, and their panels' others.
      const Index from = most(0, keys.first + i - queries.first) / 2;
      const Index end = keys.first + i + rows - 1 + keys.window - queries.first;
      const Index seeing = most(0, tile_words(most(0, least(end, queries.count))) - from);
      const Index first = i * tile / 2 + from;
      const TileRows left_p = rows_at(rounded_p + first, tile / 2, seeing);
      const TileRows left_ds = rows_at(rounded_ds + first, tile / 2, seeing);
      for (Index c = 0; c < sizes.d; c += kTileBlock) {
        const Index right = c * words + from * kTileBlock, to = i * stride + c;
        const Index columns = least(kTileBlock, sizes.d - c);
        multiply_tiles_into(left_p, dout_pairs + right, dv + to, stride, rows, columns, accumulate);
        multiply_tiles_into(left_ds, query_pairs + right, dk + to, stride, rows, columns,
                            accumulate);
      }
    }
  }
  // In place of keys and values, which are neighbours.
  const float* query_gradient_rows(const Queries& queries) const {
    return turn_sums(queries, dq, sizes, key_rows);
  }
};
