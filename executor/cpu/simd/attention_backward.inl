// Backward of attention.inl, tile by tile: probabilities P = exp(scale * K Q' - lse) are computed
// again; with dP = V dO' and dS = scale * P * (dP - delta), all keys down and queries across,
//   dV += P dO,  dK += dS Q,  dQ += dS' K,  where delta = rowsum(dO * O).

// Seven blocks of tile x head and two of tile x tile floats.
constexpr Index kBackwardTileFloats = 7 * 32 * kLongestHead + 2 * 32 * 32;

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

template <class T>
void attention_backward(const AttentionOperands& o, Index sequence, Index kv_head) {
  const Index d = o.head_dim, padded = up(d, kTileColumns), tile = attention_tile(d);
  const Index group = o.heads / o.kv_heads;
  const Index q_stride = o.heads * d, kv_stride = o.kv_heads * d;
  const float scale = 1.0F / __builtin_sqrtf(static_cast<float>(d));
  const Index base = sequence * o.sequence;
  const Index kv_offset = base * kv_stride + kv_head * d;
  const T* k = static_cast<const T*>(o.k) + kv_offset;
  const T* v = static_cast<const T*>(o.v) + kv_offset;

  alignas(64) float floats[kBackwardTileFloats];
  float* const p = floats;
  float* const ds = p + tile * tile;
  float* const key_rows = ds + tile * tile;
  float* const value_rows = key_rows + tile * padded;
  float* const q_rows = value_rows + tile * padded;
  float* const dout_rows = q_rows + tile * padded;
  float* const dq_rows = dout_rows + tile * padded;
  float* const packed_dout = dq_rows + tile * padded;
  float* const packed_q = packed_dout + tile * padded;

  for (Index head = kv_head * group; head < (kv_head + 1) * group; ++head) {
    const Index head_offset = base * q_stride + head * d;
    const Index statistics = (sequence * o.heads + head) * o.sequence;
    for (Index first_query = 0; first_query < o.sequence; first_query += tile) {
      const Queries queries{first_query, least(tile, o.sequence - first_query)};
      const Index panels = up(queries.count, kTileColumns);
      const Index rows = head_offset + first_query * q_stride;
      const T* q = static_cast<const T*>(o.q) + rows;
      const T* out = static_cast<const T*>(o.out) + rows;
      const T* dout = static_cast<const T*>(o.dout) + rows;
      const float* lse = o.lse + statistics + first_query;
      float* delta = o.delta + statistics + first_query;
      pack<kTileColumns>(dout, q_stride, 1, queries.count, d, packed_dout);
      pack<kTileColumns>(q, q_stride, 1, queries.count, d, packed_q);
      copy_head(q, q_stride, queries.count, d, padded, q_rows);
      copy_head(dout, q_stride, queries.count, d, padded, dout_rows);
      for (Index i = 0; i < queries.count; ++i) {
        Floats products = {};
        sweep(d, [&](Index c, auto extent) {
          products += load(out + i * q_stride + c, extent) * load(dout + i * q_stride + c, extent);
        });
        delta[i] = sum(products);
      }
      for (Index first = 0; first <= first_query; first += tile) {
        const Keys keys{first, least(tile, first_query + queries.count - first)};
        copy_head(k + first * kv_stride, kv_stride, keys.count, d, padded, key_rows);
        copy_head(v + first * kv_stride, kv_stride, keys.count, d, padded, value_rows);
        for (Index panel = 0; panel < panels; panel += kTileColumns) {
          const Index seen = keys.visible(first_query, panel + kTileColumns - 1);
          score_panel(key_rows, padded, packed_q, d, panel, seen, p, tile);
          score_panel(value_rows, padded, packed_dout, d, panel, seen, ds, tile);
          probability_gradients(queries, keys, panel, seen, tile, scale, lse, delta, p, ds);
        }
        const bool is_first_visit = head == kv_head * group && first == first_query;
        collect_key_gradients(queries, keys, tile, d, padded, p, ds, q_rows, dout_rows,
                              o.dk_sum + kv_offset, o.dv_sum + kv_offset, kv_stride,
                              !is_first_visit);
        for (Index i = 0; i < queries.count; i += kTileRows) {
          const Index block = least(kTileRows, queries.count - i);
          multiply_block(block, padded, keys.visible(first_query, i + block - 1),
                         StridedRows{ds + i, 1, tile}, Index{1}, key_rows, padded,
                         dq_rows + i * padded, padded, first > 0);
        }
      }
      T* dq = static_cast<T*>(o.dq) + rows;
      for (Index i = 0; i < queries.count; ++i)
        cast<float, T>(dq_rows + i * padded, dq + i * q_stride, d);
    }
  }
  if constexpr (sizeof(T) != sizeof(float)) {
    for (Index i = 0; i < o.sequence; ++i) {
      const Index row = kv_offset + i * kv_stride;
      cast<float, T>(o.dk_sum + row, static_cast<T*>(o.dk) + row, d);
      cast<float, T>(o.dv_sum + row, static_cast<T*>(o.dv) + row, d);
    }
  }
}
