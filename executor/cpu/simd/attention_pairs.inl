// The products of bf16 attention in pairs (see attention_products.inl, whose fp32 counterparts have the
// same members), on processors that multiply them. P and dS are rounded once to bf16, as FlashAttention
// rounds them; every sum, that of the softmax included, stays fp32 and takes what was not rounded. With
// ' for transposed:
//
//   scores[key][query]  = K Q'      words along the head     K as it lies  times  panels of queries
//   dP[key][query]      = V dO'     words along the head     V as it lies  times  panels of queries
//   out[query][c]      += P' V      words of two keys        P in pairs of its rows  times  panels of V
//   dq[query][c]       += dS' K     words of two keys        dS in pairs of its rows  times  panels of K
//   dv[key][c]         += P dO      words of two queries     P as it lies, rounded  times  panels of dO
//   dk[key][c]         += dS Q      words of two queries     dS as it lies, rounded  times  panels of Q
//
// Where an operand has an odd number of elements along the words, zeros fill the last one, on both sides.
// Needs pairs.inl and attention_products.inl.

// One panel of x[key][query], rounded, in pairs of the keys [from, end): zero behind the `seen` ones.
FORESHARD_INLINE void pair_keys(const float* x, Index tile, Index from, Index seen, Index end,
                                float* pairs) {
  for (Index key = from; key < end; key += 2) {
    for (Index i = 0; i < kTileColumns; i += kWidth) {
      const float* const low = x + key * tile + i;
      Bits word = {};
      if (key < seen) word = rounded_bits(load(low));
      if (key + 1 < seen) word |= rounded_bits(load(low + tile)) << 16;
      store(pairs + (key - from) / 2 * kTileColumns + i, reinterpret_cast<Floats>(word));
    }
  }
}

// One panel of x[key][query], rounded where it lies in `rows`, for the keys [from, end): zero behind the
// `seen` ones and behind `queries` of the panel.
FORESHARD_INLINE void round_panel(const float* x, Index tile, Index panel, Index from, Index seen,
                                  Index end, Index queries, float* rows) {
  BFloat16* const to = reinterpret_cast<BFloat16*>(rows) + panel;
  for (Index key = from; key < end; ++key) {
    for (Index i = 0; i < kTileColumns; i += kWidth) {
      const Index present = key < seen ? most(0, least(kWidth, queries - i)) : 0;
      store(to + key * tile + i, load(x + key * tile + panel + i, present));
    }
  }
}

#if defined(FORESHARD_ADD_PAIRS)
// Words of `elements` elements.
FORESHARD_INLINE Index words_of(Index elements) {
  return (elements + 1) / 2;
}

FORESHARD_INLINE void pack_pairs(const BFloat16* from, Index lane_stride, Index step_stride,
                                 Index lanes, Index elements, float* to) {
  PackPairs::pack_panels<kTileColumns>(from, lane_stride, step_stride, lanes, elements, to);
}

// sums[query][c] (+)= weights[key][query]' rows[key][c], of which `panels` holds pairs of keys.
FORESHARD_INLINE void sum_over_paired_keys(const Queries& queries, const Keys& keys,
                                           const float* weights, const float* panels,
                                           const HeadSizes& sizes, float* pairs, float* sums,
                                           bool accumulate) {
  const Index words = words_of(keys.count);
  for (Index panel = 0; panel < queries.count; panel += kTileColumns) {
    const Index seen = keys.visible(queries.first, panel + kTileColumns - 1);
    const Index first = down(keys.passed(queries.first, panel), 2);
    pair_keys(weights + panel, sizes.tile, first, seen, up(seen, 2), pairs);
    const Index count = least(kTileColumns, queries.count - panel);
    for (Index i = 0; i < count; i += kTileRows) {
      const Index block = least(kTileRows, count - i), query = panel + i;
      const Index from = down(keys.passed(queries.first, query), 2);
      const Index steps = words_of(keys.visible(queries.first, query + block - 1) - from);
      for (Index c = 0; c < sizes.d; c += kTileColumns) {
        multiply_block(
            block, Index{kTileColumns}, steps,
            Strided<PairedElements>{pairs + (from - first) / 2 * kTileColumns + i, 1, kTileColumns},
            Index{1}, panels + c * words + from / 2 * kTileColumns, Index{kTileColumns},
            sums + query * sizes.padded + c, sizes.padded, accumulate);
      }
    }
  }
}

struct PairAttention {
  using Element = BFloat16;
  static constexpr Index kKeyStep = 2;

  HeadSizes sizes;
  Index words;  // of a row
  float *scores, *key_rows, *value_panels, *query_panels, *pairs, *result;

  static Index floats(Index head_dim) {
    const HeadSizes sizes(head_dim);
    return sizes.square() + 3 * sizes.block() / 2 + kTileColumns * sizes.tile / 2 + sizes.block();
  }
  PairAttention(Stretch stretch, Index head_dim)
      : sizes(head_dim),
        words(words_of(head_dim)),
        scores(stretch.take(sizes.square())),
        key_rows(stretch.take(sizes.block() / 2)),
        value_panels(stretch.take(sizes.block() / 2)),
        query_panels(stretch.take(sizes.block() / 2)),
        pairs(stretch.take(kTileColumns * sizes.tile / 2)),
        result(stretch.take(sizes.block())) {}

  void load_queries(const BFloat16* q, Index stride, Index count) const {
    pack_pairs(q, stride, 1, count, sizes.d, query_panels);
  }
  void load_keys(const BFloat16* k, const BFloat16* v, Index stride, Index count) const {
    copy_rows(k, stride, count, sizes.d, key_rows, words);
    pack_pairs(v, 1, stride, sizes.d, count, value_panels);
  }
  void score(Index panel, Index from, Index seen) const {
    score_panel<PairedElements>(key_rows, words, query_panels, words, sizes.tile, panel, from, seen,
                                scores);
  }
  void rescale(const Queries& queries, Index i, Floats factors) const {
    rescale_rows(result, sizes, queries.count, i, factors);
  }
  void add_values(const Queries& queries, const Keys& keys, bool accumulate) const {
    sum_over_paired_keys(queries, keys, scores, value_panels, sizes, pairs, result, accumulate);
  }
  const float* result_rows(const Queries&) const { return result; }
};

struct PairGradients {
  using Element = BFloat16;
  static constexpr Index kKeyStep = 2;

  HeadSizes sizes;
  Index words;  // of a row
  float *p, *ds, *rounded_p, *rounded_ds, *pairs, *key_rows, *value_rows, *key_panels;
  float *query_panels, *dout_panels, *query_pairs, *dout_pairs, *dq;

  static Index floats(Index head_dim) {
    const HeadSizes sizes(head_dim);
    return 3 * sizes.square() + kTileColumns * sizes.tile / 2 + 7 * sizes.block() / 2 +
           sizes.block();
  }
  PairGradients(Stretch stretch, Index head_dim)
      : sizes(head_dim),
        words(words_of(head_dim)),
        p(stretch.take(sizes.square())),
        ds(stretch.take(sizes.square())),
        rounded_p(stretch.take(sizes.square() / 2)),
        rounded_ds(stretch.take(sizes.square() / 2)),
        pairs(stretch.take(kTileColumns * sizes.tile / 2)),
        key_rows(stretch.take(sizes.block() / 2)),
        value_rows(stretch.take(sizes.block() / 2)),
        key_panels(stretch.take(sizes.block() / 2)),
        query_panels(stretch.take(sizes.block() / 2)),
        dout_panels(stretch.take(sizes.block() / 2)),
        query_pairs(stretch.take(sizes.block() / 2)),
        dout_pairs(stretch.take(sizes.block() / 2)),
        dq(stretch.take(sizes.block())) {}

  void load_queries(const BFloat16* q, const BFloat16* dout, Index stride, Index count) const {
    pack_pairs(q, stride, 1, count, sizes.d, query_panels);
    pack_pairs(dout, stride, 1, count, sizes.d, dout_panels);
    pack_pairs(q, 1, stride, sizes.d, count, query_pairs);
    pack_pairs(dout, 1, stride, sizes.d, count, dout_pairs);
  }
  void load_keys(const BFloat16* k, const BFloat16* v, Index stride, Index count) const {
    copy_rows(k, stride, count, sizes.d, key_rows, words);
    copy_rows(v, stride, count, sizes.d, value_rows, words);
  }
  void score(Index panel, Index from, Index seen) const {
    score_panel<PairedElements>(key_rows, words, query_panels, words, sizes.tile, panel, from, seen,
                                p);
    score_panel<PairedElements>(value_rows, words, dout_panels, words, sizes.tile, panel, from,
                                seen, ds);
  }
  void add_query_gradients(const Queries& queries, const Keys& keys, bool accumulate) const {
    pack_pairs(reinterpret_cast<const BFloat16*>(key_rows), 1, 2 * words, sizes.d, keys.count,
               key_panels);
    sum_over_paired_keys(queries, keys, ds, key_panels, sizes, pairs, dq, accumulate);
  }
  void add_key_gradients(const Queries& queries, const Keys& keys, float* dk, float* dv,
                         Index stride, bool accumulate) const {
    const Index tile = sizes.tile, row = tile / 2, query_words = words_of(queries.count);
    for (Index panel = 0; panel < queries.count; panel += kTileColumns) {
      // With the zeros around what it sees: a block of keys has the queries of all of them.
      const Index seen = keys.visible(queries.first, panel + kTileColumns - 1);
      const Index begin = most(0, down(keys.passed(queries.first, panel), kKeyStep) - kTileRows);
      const Index end = least(seen + kTileRows, tile), left = queries.count - panel;
      round_panel(p, tile, panel, begin, end, end, left, rounded_p);
      round_panel(ds, tile, panel, begin, end, end, left, rounded_ds);
    }
    for (Index i = 0; i < keys.count; i += kTileRows) {
      const Index rows = least(kTileRows, keys.count - i);
      const Index from = down(most(0, keys.first + i - queries.first), 2) / 2;
      const Index last = keys.first + i + rows - 1 + keys.window - queries.first;
      const Index steps = most(0, words_of(most(0, least(last, queries.count))) - from);
      const Index first = i * row + from;
      const Strided<PairedElements> left_p{rounded_p + first, row, 1};
      const Strided<PairedElements> left_ds{rounded_ds + first, row, 1};
      for (Index c = 0; c < sizes.d; c += kTileColumns) {
        const Index right = c * query_words + from * kTileColumns, to = i * stride + c;
        const Index columns = least(kTileColumns, sizes.d - c);
        multiply_block(rows, columns, steps, left_p, row, dout_pairs + right, Index{kTileColumns},
                       dv + to, stride, accumulate);
        multiply_block(rows, columns, steps, left_ds, row, query_pairs + right, Index{kTileColumns},
                       dk + to, stride, accumulate);
      }
    }
  }
  const float* query_gradient_rows(const Queries&) const { return dq; }
};
#endif
