// Backward of attention.inl, tile by tile: probabilities P = exp(scale * K Q' - lse) are computed
// again; with dP = V dO' and dS = scale * P * (dP - delta), all keys down and queries across,
//   dV += P dO,  dK += dS Q,  dQ += dS' K,  where delta = rowsum(dO * O).

// One tile pair's P and dS, in place of the scores and of dP.
FORESHARD_INLINE void probability_gradients(const Queries& queries, const Keys& keys, Index panel,
                                            Index seen, Index tile, float scale, const float* lse,
                                            const float* delta, float* p, float* ds) {
  for (Index i = panel; i < panel + kTileColumns; i += kWidth) {
    const Index left = least(kWidth, queries.count - i);
    const Floats log_sum = left > 0 ? load(lse + i, left) : Floats{};
    const Floats mean = left > 0 ? load(delta + i, left) : Floats{};
    const Index unmasked = most(0, keys.visible(queries.first, i));
    for (Index key = 0; key < seen; ++key) {
      Floats probability = exponential(load(p + key * tile + i) * scale - log_sum);
      if (key >= unmasked) {
        probability = hidden_from(queries.first, i, keys.first + key) ? Floats{} : probability;
      }
      store(p + key * tile + i, probability);
      store(ds + key * tile + i, (load(ds + key * tile + i) - mean) * probability * scale);
    }
    for (Index key = seen; key < least(seen + kTileRows, keys.count); ++key) {
      store(p + key * tile + i, Floats{});
      store(ds + key * tile + i, Floats{});
    }
  }
}

// Adds what one tile of queries sends back to one tile of keys: dv += P dO and dk += dS Q.
FORESHARD_INLINE void collect_key_gradients(const Queries& queries, const Keys& keys, Index tile,
                                            Index head_dim, Index padded, const float* p,
                                            const float* ds, const float* q_rows,
                                            const float* dout_rows, float* dk, float* dv,
                                            Index stride, bool accumulate) {
  for (Index i = 0; i < keys.count; i += kTileRows) {
    const Index rows = least(kTileRows, keys.count - i);
    const Index from = most(0, keys.first + i - queries.first);  // the first query to see the block
    const Index steps = queries.count - from;
    const Index row = (keys.first + i) * stride;
    multiply_block(rows, head_dim, steps, StridedRows{p + i * tile + from, tile, 1}, tile,
                   dout_rows + from * padded, padded, dv + row, stride, accumulate);
    multiply_block(rows, head_dim, steps, StridedRows{ds + i * tile + from, tile, 1}, tile,
                   q_rows + from * padded, padded, dk + row, stride, accumulate);
  }
}

// What is worked on at a time, on the stack.
struct BackwardTiles {
  float *p, *ds, *key_rows, *value_rows, *q_rows, *dout_rows, *dq_rows, *packed_dout, *packed_q;

  BackwardTiles(float* floats, Index tile, Index padded) {
    float** const squares[] = {&p, &ds};
    float** const blocks[] = {&key_rows, &value_rows,  &q_rows,  &dout_rows,
                              &dq_rows,  &packed_dout, &packed_q};
    for (float** square : squares) *square = floats, floats += tile * tile;
    for (float** block : blocks) *block = floats, floats += tile * padded;
  }
  static constexpr Index floats(Index tile, Index padded) {
    return 2 * tile * tile + 7 * tile * padded;
  }
};

// The sizes and operands of one sequence's pair of a query head and its key/value head.
template <class T>
struct BackwardHeads {
  Index d, padded, tile, q_stride, kv_stride, q_offset, kv_offset, statistics;
  float scale;
  const AttentionOperands& o;

  BackwardHeads(const AttentionOperands& operands, Index sequence, Index head)
      : d(operands.head_dim),
        padded(up(d, kTileColumns)),
        tile(attention_tile(d)),
        q_stride(operands.heads * d),
        kv_stride(operands.kv_heads * d),
        q_offset(sequence * operands.sequence * q_stride + head * d),
        kv_offset(sequence * operands.sequence * kv_stride +
                  head / (operands.heads / operands.kv_heads) * d),
        statistics((sequence * operands.heads + head) * operands.sequence),
        scale(1.0F / __builtin_sqrtf(static_cast<float>(d))),
        o(operands) {}

  Queries queries_from(Index first) const { return {first, least(tile, o.sequence - first)}; }
  // Those of a tile of keys that its queries, or any later ones, may see.
  Keys keys_from(Index first, const Queries& queries) const {
    return {first, least(tile, queries.first + queries.count - first)};
  }

  void load_queries(const Queries& queries, const BackwardTiles& at) const {
    const Index rows = q_offset + queries.first * q_stride;
    const T* q = static_cast<const T*>(o.q) + rows;
    const T* dout = static_cast<const T*>(o.dout) + rows;
    pack<kTileColumns>(dout, q_stride, 1, queries.count, d, at.packed_dout);
    pack<kTileColumns>(q, q_stride, 1, queries.count, d, at.packed_q);
    copy_head(q, q_stride, queries.count, d, padded, at.q_rows);
    copy_head(dout, q_stride, queries.count, d, padded, at.dout_rows);
  }

  void load_keys(const Keys& keys, const BackwardTiles& at) const {
    const Index rows = kv_offset + keys.first * kv_stride;
    copy_head(static_cast<const T*>(o.k) + rows, kv_stride, keys.count, d, padded, at.key_rows);
    copy_head(static_cast<const T*>(o.v) + rows, kv_stride, keys.count, d, padded, at.value_rows);
  }

  void set_delta(const Queries& queries) const {
    const Index rows = q_offset + queries.first * q_stride;
    const T* out = static_cast<const T*>(o.out) + rows;
    const T* dout = static_cast<const T*>(o.dout) + rows;
    for (Index i = 0; i < queries.count; ++i) {
      Floats products = {};
      sweep(d, [&](Index c, auto extent) {
        products += load(out + i * q_stride + c, extent) * load(dout + i * q_stride + c, extent);
      });
      o.delta[statistics + queries.first + i] = sum(products);
    }
  }

  // P and dS of what was loaded.
  void set_probabilities(const Queries& queries, const Keys& keys, const BackwardTiles& at) const {
    for (Index panel = 0; panel < up(queries.count, kTileColumns); panel += kTileColumns) {
      const Index seen = keys.visible(queries.first, panel + kTileColumns - 1);
      score_panel(at.key_rows, padded, at.packed_q, d, panel, seen, at.p, tile);
      score_panel(at.value_rows, padded, at.packed_dout, d, panel, seen, at.ds, tile);
      probability_gradients(queries, keys, panel, seen, tile, scale,
                            o.lse + statistics + queries.first,
                            o.delta + statistics + queries.first, at.p, at.ds);
    }
  }

  void add_query_gradients(const Queries& queries, const Keys& keys,
                           const BackwardTiles& at) const {
    for (Index i = 0; i < queries.count; i += kTileRows) {
      const Index block = least(kTileRows, queries.count - i);
      multiply_block(block, padded, keys.visible(queries.first, i + block - 1),
                     StridedRows{at.ds + i, 1, tile}, Index{1}, at.key_rows, padded,
                     at.dq_rows + i * padded, padded, keys.first > 0);
    }
  }

  void add_key_gradients(const Queries& queries, const Keys& keys, const BackwardTiles& at,
                         bool is_first) const {
    collect_key_gradients(queries, keys, tile, d, padded, at.p, at.ds, at.q_rows, at.dout_rows,
                          o.dk_sum + kv_offset, o.dv_sum + kv_offset, kv_stride, !is_first);
  }

  void store_query_gradients(const Queries& queries, const BackwardTiles& at) const {
    T* dq = static_cast<T*>(o.dq) + q_offset + queries.first * q_stride;
    for (Index i = 0; i < queries.count; ++i)
      cast<float, T>(at.dq_rows + i * padded, dq + i * q_stride, d);
  }

  // Rounds the sums of keys [begin, end), unless they stand where they belong.
  void store_key_gradients(Index begin, Index end) const {
    if constexpr (sizeof(T) != sizeof(float)) {
      for (Index i = begin; i < end; ++i) {
        const Index row = kv_offset + i * kv_stride;
        cast<float, T>(o.dk_sum + row, static_cast<T*>(o.dk) + row, d);
        cast<float, T>(o.dv_sum + row, static_cast<T*>(o.dv) + row, d);
      }
    }
  }
};

// The stack takes what heads of this length need: below 0.5 MiB up to 256, 0.93 MiB at 1024.
#define FORESHARD_BACKWARD_TILES(heads)                                                   \
  BackwardTiles(                                                                          \
      static_cast<float*>(__builtin_alloca_with_align(                                    \
          static_cast<std::size_t>(BackwardTiles::floats((heads).tile, (heads).padded)) * \
              sizeof(float),                                                              \
          512)),                                                                          \
      (heads).tile, (heads).padded)

// All gradients of one key/value head.
template <class T>
void attention_backward(const AttentionOperands& o, Index sequence, Index kv_head) {
  const Index group = o.heads / o.kv_heads, begin = kv_head * group;
  const BackwardTiles at = FORESHARD_BACKWARD_TILES(BackwardHeads<T>(o, sequence, begin));
  for (Index head = begin; head < begin + group; ++head) {
    const BackwardHeads<T> heads(o, sequence, head);
    for (Index first_query = 0; first_query < o.sequence; first_query += heads.tile) {
      const Queries queries = heads.queries_from(first_query);
      heads.load_queries(queries, at);
      heads.set_delta(queries);
      for (Index first = 0; first <= first_query; first += heads.tile) {
        const Keys keys = heads.keys_from(first, queries);
        heads.load_keys(keys, at);
        heads.set_probabilities(queries, keys, at);
        heads.add_key_gradients(queries, keys, at, head == begin && first == first_query);
        heads.add_query_gradients(queries, keys, at);
      }
      heads.store_query_gradients(queries, at);
      note_progress();
    }
  }
  BackwardHeads<T>(o, sequence, begin).store_key_gradients(0, o.sequence);
}

// The same in two passes for threads that outnumber key/value heads: first dq and delta of one tile
// of queries, then dk and dv of one tile of keys. Probabilities are computed twice, and every sum is
// added up in the order of the single pass.
template <class T>
void attention_query_gradients(const AttentionOperands& o, Index sequence, Index head,
                               Index tile_index) {
  const BackwardHeads<T> heads(o, sequence, head);
  const BackwardTiles at = FORESHARD_BACKWARD_TILES(heads);
  const Queries queries = heads.queries_from(tile_index * heads.tile);
  heads.load_queries(queries, at);
  heads.set_delta(queries);
  for (Index first = 0; first <= queries.first; first += heads.tile) {
    const Keys keys = heads.keys_from(first, queries);
    heads.load_keys(keys, at);
    heads.set_probabilities(queries, keys, at);
    heads.add_query_gradients(queries, keys, at);
  }
  heads.store_query_gradients(queries, at);
}

template <class T>
void attention_key_gradients(const AttentionOperands& o, Index sequence, Index kv_head,
                             Index tile_index) {
  const Index group = o.heads / o.kv_heads, begin = kv_head * group;
  const BackwardTiles at = FORESHARD_BACKWARD_TILES(BackwardHeads<T>(o, sequence, begin));
  const Index first = tile_index * attention_tile(o.head_dim);
  for (Index head = begin; head < begin + group; ++head) {
    const BackwardHeads<T> heads(o, sequence, head);
    for (Index first_query = first; first_query < o.sequence; first_query += heads.tile) {
      const Queries queries = heads.queries_from(first_query);
      const Keys keys = heads.keys_from(first, queries);
      heads.load_queries(queries, at);
      heads.load_keys(keys, at);
      heads.set_probabilities(queries, keys, at);
      heads.add_key_gradients(queries, keys, at, head == begin && first == first_query);
    }
  }
  const BackwardHeads<T> heads(o, sequence, begin);
  heads.store_key_gradients(first, least(first + heads.tile, o.sequence));
}
