// The products of attention, apart from its control flow. Attention goes tile by tile, keys down and
// queries across, and what it multiplies there is one of these types: WidenedAttention and
// WidenedGradients compute in fp32, bf16 operands being widened on the way in, so that the keys need
// no packing and the probabilities already lie as the next product needs its left operand;
// attention_pairs.inl and attention_tiles.inl multiply bf16 as it is.
//
// Each owns a stretch of the thread's stack, floats(head_dim) of it, and has `tile` queries and keys
// loaded at a time. score() fills a panel of kTileColumns queries for the keys it sees, from a
// multiple of kKeyStep on; the caller makes probabilities (and gradients) of it in place, and then has
// them multiplied. Products over several tiles of keys add up from the first on. Needs gemm.inl.

struct Queries {
  Index first, count;  // positions in the sequence
};
// A query sees the `window` keys that end with its own.
struct Keys {
  Index first, count, window;
  // Keys that query `q` of the tile (and all before it) may see at most.
  Index visible(Index first_query, Index q) const {
    const Index n = first_query + q + 1 - first;
    return n < count ? n : count;
  }
  // Keys that lie before the window of query `q` (and of all after it).
  Index passed(Index first_query, Index q) const {
    return most(0, visible(first_query, q - window));
  }
};

// The first tile of keys that a tile of queries may see.
FORESHARD_INLINE Index first_tile(Index first_query, Index window, Index tile) {
  return most(0, first_query + 1 - window) / tile * tile;
}

// Memory handed out piece by piece.
struct Stretch {
  float* rest;
  float* take(Index floats) {
    float* const piece = rest;
    rest += floats;
    return piece;
  }
};

// Head_dim and what follows from it.
struct HeadSizes {
  Index d, padded, tile;
  explicit HeadSizes(Index head_dim)
      : d(head_dim), padded(up(d, kTileColumns)), tile(attention_tile(d)) {}
  Index square() const { return tile * tile; }
  Index block() const { return tile * padded; }
};

// Copies rows of one head, widened, to rows of `padded` floats; the rest of each row is zero.
template <class T>
FORESHARD_INLINE void copy_head(const T* from, Index stride, Index rows, const HeadSizes& sizes,
                                float* to) {
  for (Index r = 0; r < rows; ++r, from += stride, to += sizes.padded) {
    sweep(sizes.d, [&](Index i, auto extent) { store(to + i, load(from + i, extent)); });
    for (Index i = up(sizes.d, kWidth); i < sizes.padded; i += kWidth) store(to + i, Floats{});
  }
}

// scores[key][query] = keys . queries of a panel for the keys [from, seen) that it sees, from rows of
// `words` words, `stride` floats apart. Zeros stand around them, for a block of rows of the next product
// may reach past what some of its queries see.
template <class Words>
FORESHARD_INLINE void score_panel(const float* keys, Index stride, const float* packed_queries,
                                  Index words, Index tile, Index panel, Index from, Index seen,
                                  float* scores) {
  multiply_block(seen - from, Index{kTileColumns}, words,
                 Strided<Words>{keys + from * stride, stride, 1}, stride,
                 packed_queries + panel * words, Index{kTileColumns}, scores + from * tile + panel,
                 tile, false);
  const auto clear = [&](Index begin, Index end) {
    for (Index key = begin; key < end; ++key) {
      for (Index i = panel; i < panel + kTileColumns; i += kWidth) {
        store(scores + key * tile + i, Floats{});
      }
    }
  };
  clear(most(0, from - kTileRows), from);
  clear(seen, least(seen + kTileRows, tile));
}

// sums[query][c] (+)= weights[key][query]' rows[key][c].
FORESHARD_INLINE void sum_over_keys(const Queries& queries, const Keys& keys, const float* weights,
                                    const float* rows, const HeadSizes& sizes, float* sums,
                                    bool accumulate) {
  for (Index i = 0; i < queries.count; i += kTileRows) {
    const Index block = least(kTileRows, queries.count - i);
    const Index from = keys.passed(queries.first, i);
    multiply_block(block, sizes.padded, keys.visible(queries.first, i + block - 1) - from,
                   Strided<SingleElements>{weights + from * sizes.tile + i, 1, sizes.tile},
                   Index{1}, rows + from * sizes.padded, sizes.padded, sums + i * sizes.padded,
                   sizes.padded, accumulate);
  }
}

FORESHARD_INLINE void rescale_rows(float* rows, const HeadSizes& sizes, Index count, Index i,
                                   Floats factors) {
  for (Index lane = 0; lane < kWidth && i + lane < count; ++lane) {
    float* const row = rows + (i + lane) * sizes.padded;
    for (Index c = 0; c < sizes.padded; c += kWidth) {
      store(row + c, load(row + c) * factors[lane]);
    }
  }
}

template <class T>
struct WidenedAttention {
  using Element = T;
  static constexpr Index kKeyStep = 1;

  HeadSizes sizes;
  float *scores, *key_rows, *value_rows, *result, *packed_q;

  static Index floats(Index head_dim) {
    const HeadSizes sizes(head_dim);
    return sizes.square() + 4 * sizes.block();
  }
  WidenedAttention(Stretch stretch, Index head_dim)
      : sizes(head_dim),
        scores(stretch.take(sizes.square())),
        key_rows(stretch.take(sizes.block())),
        value_rows(stretch.take(sizes.block())),
        result(stretch.take(sizes.block())),
        packed_q(stretch.take(sizes.block())) {}

  void load_queries(const T* q, Index stride, Index count) const {
    pack<kTileColumns>(q, stride, 1, count, sizes.d, packed_q);
  }
  void load_keys(const T* k, const T* v, Index stride, Index count) const {
    copy_head(k, stride, count, sizes, key_rows);
    copy_head(v, stride, count, sizes, value_rows);
  }
  void score(Index panel, Index from, Index seen) const {
    score_panel<SingleElements>(key_rows, sizes.padded, packed_q, sizes.d, sizes.tile, panel, from,
                                seen, scores);
  }
  // Multiplies the results of queries i .. i + kWidth, as far as there are any.
  void rescale(const Queries& queries, Index i, Floats factors) const {
    rescale_rows(result, sizes, queries.count, i, factors);
  }
  // result (+)= P' V
  void add_values(const Queries& queries, const Keys& keys, bool accumulate) const {
    sum_over_keys(queries, keys, scores, value_rows, sizes, result, accumulate);
  }
  // result[query][c] in rows of `padded`.
  const float* result_rows(const Queries&) const { return result; }
};

template <class T>
struct WidenedGradients {
  using Element = T;
  static constexpr Index kKeyStep = 1;

  HeadSizes sizes;
  float *p, *ds, *key_rows, *value_rows, *q_rows, *dout_rows, *dq, *packed_dout, *packed_q;

  static Index floats(Index head_dim) {
    const HeadSizes sizes(head_dim);
    return 2 * sizes.square() + 7 * sizes.block();
  }
  WidenedGradients(Stretch stretch, Index head_dim)
      : sizes(head_dim),
        p(stretch.take(sizes.square())),
        ds(stretch.take(sizes.square())),
        key_rows(stretch.take(sizes.block())),
        value_rows(stretch.take(sizes.block())),
        q_rows(stretch.take(sizes.block())),
        dout_rows(stretch.take(sizes.block())),
        dq(stretch.take(sizes.block())),
        packed_dout(stretch.take(sizes.block())),
        packed_q(stretch.take(sizes.block())) {}

  void load_queries(const T* q, const T* dout, Index stride, Index count) const {
    pack<kTileColumns>(dout, stride, 1, count, sizes.d, packed_dout);
    pack<kTileColumns>(q, stride, 1, count, sizes.d, packed_q);
    copy_head(q, stride, count, sizes, q_rows);
    copy_head(dout, stride, count, sizes, dout_rows);
  }
  void load_keys(const T* k, const T* v, Index stride, Index count) const {
    copy_head(k, stride, count, sizes, key_rows);
    copy_head(v, stride, count, sizes, value_rows);
  }
  // p = K Q', ds = V dO'
  void score(Index panel, Index from, Index seen) const {
    score_panel<SingleElements>(key_rows, sizes.padded, packed_q, sizes.d, sizes.tile, panel, from,
                                seen, p);
    score_panel<SingleElements>(value_rows, sizes.padded, packed_dout, sizes.d, sizes.tile, panel,
                                from, seen, ds);
  }
  // dq (+)= dS' K
  void add_query_gradients(const Queries& queries, const Keys& keys, bool accumulate) const {
    sum_over_keys(queries, keys, ds, key_rows, sizes, dq, accumulate);
  }
  // dv[key][c] (+)= P dO, dk[key][c] (+)= dS Q, both from the tile's first key on, over the queries that see
  // any key of a block.
  void add_key_gradients(const Queries& queries, const Keys& keys, float* dk, float* dv,
                         Index stride, bool accumulate) const {
    const Index tile = sizes.tile, padded = sizes.padded;
    for (Index i = 0; i < keys.count; i += kTileRows) {
      const Index rows = least(kTileRows, keys.count - i);
      const Index from = most(0, keys.first + i - queries.first);
      const Index end = keys.first + i + rows - 1 + keys.window - queries.first;
      const Index steps = most(0, least(end, queries.count) - from);
      multiply_block(rows, sizes.d, steps, Strided<SingleElements>{p + i * tile + from, tile, 1},
                     tile, dout_rows + from * padded, padded, dv + i * stride, stride, accumulate);
      multiply_block(rows, sizes.d, steps, Strided<SingleElements>{ds + i * tile + from, tile, 1},
                     tile, q_rows + from * padded, padded, dk + i * stride, stride, accumulate);
    }
  }
  // dq[query][c] in rows of `padded`.
  const float* query_gradient_rows(const Queries&) const { return dq; }
};
