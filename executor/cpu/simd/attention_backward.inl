// Backward of attention.inl, tile by tile: probabilities P = exp(scale * K Q' - lse) are computed
// again; with dP = V dO' and dS = scale * P * (dP - delta), all keys down and queries across,
//   dV += P dO,  dK += dS Q,  dQ += dS' K,  where delta = rowsum(dO * O).

// One tile pair's P and dS, in place of the scores and of dP.
FORESHARD_INLINE void probability_gradients(const Queries& queries, const Keys& keys, Index panel,
                                            Index from, Index seen, Index tile, float scale,
                                            const float* lse, const float* delta, float* p,
                                            float* ds) {
  for (Index i = panel; i < panel + kTileColumns; i += kWidth) {
    const Index left = least(kWidth, queries.count - i);
    const Floats log_sum = left > 0 ? load(lse + i, left) : Floats{};
    const Floats mean = left > 0 ? load(delta + i, left) : Floats{};
    const Index all_see_from = keys.passed(queries.first, i + kWidth - 1);
    const Index all_see_to = most(0, keys.visible(queries.first, i));
    for (Index key = from; key < seen; ++key) {
      Floats probability = exponential(load(p + key * tile + i) * scale - log_sum);
      if (key < all_see_from || key >= all_see_to) {
        probability = hidden_from(queries.first, i, keys, key) ? Floats{} : probability;
      }
      store(p + key * tile + i, probability);
      store(ds + key * tile + i, (load(ds + key * tile + i) - mean) * probability * scale);
    }
  }
}

// The sizes and operands of one sequence's pair of a query head and its key/value head.
template <class Products>
struct BackwardHeads {
  using T = typename Products::Element;

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
    return {first, least(tile, queries.first + queries.count - first), o.window};
  }

  void load_queries(const Queries& queries, const Products& at) const {
    const Index rows = q_offset + queries.first * q_stride;
    at.load_queries(static_cast<const T*>(o.q) + rows, static_cast<const T*>(o.dout) + rows,
                    q_stride, queries.count);
  }

  void load_keys(const Keys& keys, const Products& at) const {
    const Index rows = kv_offset + keys.first * kv_stride;
    at.load_keys(static_cast<const T*>(o.k) + rows, static_cast<const T*>(o.v) + rows, kv_stride,
                 keys.count);
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
  void set_probabilities(const Queries& queries, const Keys& keys, const Products& at) const {
    for (Index panel = 0; panel < up(queries.count, kTileColumns); panel += kTileColumns) {
      const Index seen = keys.visible(queries.first, panel + kTileColumns - 1);
      const Index from = down(keys.passed(queries.first, panel), Products::kKeyStep);
      at.score(panel, from, seen);
      probability_gradients(queries, keys, panel, from, seen, tile, scale,
                            o.lse + statistics + queries.first,
                            o.delta + statistics + queries.first, at.p, at.ds);
    }
  }

  void add_key_gradients(const Queries& queries, const Keys& keys, const Products& at,
                         bool is_first) const {
    const Index rows = kv_offset + keys.first * kv_stride;
    at.add_key_gradients(queries, keys, o.dk_sum + rows, o.dv_sum + rows, kv_stride, !is_first);
  }

  void store_query_gradients(const Queries& queries, const Products& at) const {
    const float* const rows = at.query_gradient_rows(queries);
    T* dq = static_cast<T*>(o.dq) + q_offset + queries.first * q_stride;
    for (Index i = 0; i < queries.count; ++i) {
      cast<float, T>(rows + i * padded, dq + i * q_stride, d);
    }
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

// All gradients of one key/value head.
template <class Products>
void attention_backward(const AttentionOperands& o, Index sequence, Index kv_head) {
  using Heads = BackwardHeads<Products>;
  const Index group = o.heads / o.kv_heads, begin = kv_head * group;
  const Stretch stretch = FORESHARD_STACK_STRETCH(Products::floats(o.head_dim));
  const Products at(stretch, o.head_dim);
  for (Index head = begin; head < begin + group; ++head) {
    const Heads heads(o, sequence, head);
    for (Index first_query = 0; first_query < o.sequence; first_query += heads.tile) {
      const Queries queries = heads.queries_from(first_query);
      heads.load_queries(queries, at);
      heads.set_delta(queries);
      const Index begin_key = first_tile(first_query, o.window, heads.tile);
      for (Index first = begin_key; first <= first_query; first += heads.tile) {
        const Keys keys = heads.keys_from(first, queries);
        heads.load_keys(keys, at);
        heads.set_probabilities(queries, keys, at);
        heads.add_key_gradients(queries, keys, at, head == begin && first == first_query);
        at.add_query_gradients(queries, keys, first > begin_key);
      }
      heads.store_query_gradients(queries, at);
      note_progress();
    }
  }
  Heads(o, sequence, begin).store_key_gradients(0, o.sequence);
}

// The same in two passes for threads that outnumber key/value heads: first dq and delta of one tile
// of queries, then dk and dv of one tile of keys. Probabilities are computed twice, and every sum is
// added up in the order of the single pass.
template <class Products>
void attention_query_gradients(const AttentionOperands& o, Index sequence, Index head,
                               Index tile_index) {
  const BackwardHeads<Products> heads(o, sequence, head);
  const Stretch stretch = FORESHARD_STACK_STRETCH(Products::floats(o.head_dim));
  const Products at(stretch, o.head_dim);
  const Queries queries = heads.queries_from(tile_index * heads.tile);
  heads.load_queries(queries, at);
  heads.set_delta(queries);
  const Index begin = first_tile(queries.first, o.window, heads.tile);
  for (Index first = begin; first <= queries.first; first += heads.tile) {
    const Keys keys = heads.keys_from(first, queries);
    heads.load_keys(keys, at);
    heads.set_probabilities(queries, keys, at);
    at.add_query_gradients(queries, keys, first > begin);
  }
  heads.store_query_gradients(queries, at);
}

template <class Products>
void attention_key_gradients(const AttentionOperands& o, Index sequence, Index kv_head,
                             Index tile_index) {
  using Heads = BackwardHeads<Products>;
  const Index group = o.heads / o.kv_heads, begin = kv_head * group;
  const Stretch stretch = FORESHARD_STACK_STRETCH(Products::floats(o.head_dim));
  const Products at(stretch, o.head_dim);
  const Index first = tile_index * attention_tile(o.head_dim);
  const Index end = least(o.sequence, first + attention_tile(o.head_dim) - 1 + o.window);
  for (Index head = begin; head < begin + group; ++head) {
    const Heads heads(o, sequence, head);
    for (Index first_query = first; first_query < end; first_query += heads.tile) {
      const Queries queries = heads.queries_from(first_query);
      const Keys keys = heads.keys_from(first, queries);
      heads.load_queries(queries, at);
      heads.load_keys(keys, at);
      heads.set_probabilities(queries, keys, at);
      heads.add_key_gradients(queries, keys, at, head == begin && first == first_query);
    }
  }
  const Heads heads(o, sequence, begin);
  heads.store_key_gradients(first, least(first + heads.tile, o.sequence));
}
