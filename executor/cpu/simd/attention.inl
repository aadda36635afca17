// Causal attention in tiles, without a score matrix in memory (FlashAttention's recurrences, Dao
// 2022 and 2023). Needs gemm.inl.
//
// Scores are computed transposed, keys down and queries across: the softmax then runs along vectors
// of neighbouring queries without horizontal sums, the keys need no packing, and the probabilities
// already lie as the next product wants its left operand. A tile takes `tile` queries and keys; on
// the diagonal each panel of kTileColumns queries stops at the last key it may see.
//
// Tiles live on the stack of the thread: at most kTileFloats, of which short heads use a part.

// Four blocks of tile x head, one of tile x tile, two of tile: largest for the longest head.

constexpr Index kTileFloats = 4 * 32 * kLongestHead + 32 * 32 + 2 * 32;
constexpr float kMasked = -__builtin_inff();  // a score nobody may see; its exponential is 0

// What exponents are counted from: the largest score so far, or 0 while none is above minus infinity.
FORESHARD_INLINE Floats reference_of(Floats peak) {
  return peak == kMasked ? Floats{} : peak;
}

struct Queries {
  Index first, count;  // positions in the sequence
};
struct Keys {
  Index first, count;
  // Keys that query `q` of the tile (and all before it) may see at most.
  Index visible(Index first_query, Index q) const {
    const Index n = first_query + q + 1 - first;
    return n < count ? n : count;
  }
};

// Copies rows of one head, widened, to rows of `padded` floats; the rest of each row is zero.
template <class T>
FORESHARD_INLINE void copy_head(const T* from, Index stride, Index rows, Index head_dim,
                                Index padded, float* to) {
  for (Index r = 0; r < rows; ++r, from += stride, to += padded) {
    sweep(head_dim, [&](Index i, auto extent) { store(to + i, load(from + i, extent)); });
    for (Index i = up(head_dim, kWidth); i < padded; i += kWidth) store(to + i, Floats{});
  }
}

// scores[key][query] = keys . queries, panel by panel, for the keys each panel sees.
FORESHARD_INLINE void score_panel(const float* keys, Index padded, const float* packed_queries,
                                  Index head_dim, Index panel, Index seen, float* scores,
                                  Index tile) {
  multiply_block(seen, Index{kTileColumns}, head_dim, StridedRows{keys, padded, 1}, padded,
                 packed_queries + panel * head_dim, Index{kTileColumns}, scores + panel, tile,
                 false);
}

FORESHARD_INLINE Ints lanes() {
  Ints n = {};
  for (int i = 0; i < kWidth; ++i) n[i] = i;
  return n;
}

// Queries q .. q + kWidth of a tile that may not see the key at `position`, as a mask.
FORESHARD_INLINE Ints hidden_from(Index first_query, Index q, Index position) {
  return lanes() < static_cast<std::int32_t>(position - first_query - q);
}

template <class T>
void attention(const AttentionOperands& o, Index sequence, Index head, Index tile_index) {
  const Index d = o.head_dim, padded = up(d, kTileColumns), tile = attention_tile(d);
  const Index group = o.heads / o.kv_heads;
  const Index q_stride = o.heads * d, kv_stride = o.kv_heads * d;
  const float scale = 1.0F / __builtin_sqrtf(static_cast<float>(d));
  const Index base = sequence * o.sequence;
  const T* q = static_cast<const T*>(o.q) + base * q_stride + head * d;
  const T* k = static_cast<const T*>(o.k) + base * kv_stride + head / group * d;
  const T* v = static_cast<const T*>(o.v) + base * kv_stride + head / group * d;

  alignas(64) float floats[kTileFloats];
  float* const scores = floats;
  float* const key_rows = scores + tile * tile;
  float* const value_rows = key_rows + tile * padded;
  float* const result = value_rows + tile * padded;
  float* const peak = result + tile * padded;
  float* const total = peak + tile;
  float* const packed_q = total + tile;

  const Queries queries{tile_index * tile, least(tile, o.sequence - tile_index * tile)};
  const Index panels = up(queries.count, kTileColumns);
  pack<kTileColumns>(q + queries.first * q_stride, q_stride, 1, queries.count, d, packed_q);
  for (Index i = 0; i < panels; i += kWidth) {
    store(peak + i, broadcast(kMasked));
    store(total + i, Floats{});
  }
  for (Index first = 0; first < queries.first + queries.count; first += tile) {
    const Keys keys{first, least(tile, queries.first + queries.count - first)};
    copy_head(k + first * kv_stride, kv_stride, keys.count, d, padded, key_rows);
    copy_head(v + first * kv_stride, kv_stride, keys.count, d, padded, value_rows);
    for (Index panel = 0; panel < panels; panel += kTileColumns) {
      const Index seen = keys.visible(queries.first, panel + kTileColumns - 1);
      score_panel(key_rows, padded, packed_q, d, panel, seen, scores, tile);
      for (Index i = panel; i < panel + kTileColumns; i += kWidth) {
        const Index unmasked = most(0, keys.visible(queries.first, i));
        for (Index key = unmasked; key < seen; ++key) {
          float* x = scores + key * tile + i;
          store(x, hidden_from(queries.first, i, first + key) ? broadcast(kMasked) : load(x));
        }
        const Floats old_peak = load(peak + i);
        Floats new_peak = old_peak;
        for (Index key = 0; key < seen; ++key) {
          new_peak = max(new_peak, load(scores + key * tile + i) * scale);
        }
        const Floats reference = reference_of(new_peak);
        const Floats shrink = exponential(old_peak - reference);
        Floats sums = load(total + i) * shrink;
        for (Index key = 0; key < seen; ++key) {
          float* x = scores + key * tile + i;
          const Floats p = exponential(load(x) * scale - reference);
          store(x, p);
          sums += p;
        }
        // A block of rows of the next product may reach past what its first queries see.
        for (Index key = seen; key < least(seen + kTileRows, keys.count); ++key) {
          store(scores + key * tile + i, Floats{});
        }
        store(total + i, sums);
        store(peak + i, new_peak);
        if (first > 0) {
          for (Index lane = 0; lane < kWidth && i + lane < queries.count; ++lane) {
            float* row = result + (i + lane) * padded;
            for (Index c = 0; c < padded; c += kWidth) store(row + c, load(row + c) * shrink[lane]);
          }
        }
      }
    }
    for (Index i = 0; i < queries.count; i += kTileRows) {
      const Index rows = least(kTileRows, queries.count - i);
      multiply_block(rows, padded, keys.visible(queries.first, i + rows - 1),
                     StridedRows{scores + i, 1, tile}, Index{1}, value_rows, padded,
                     result + i * padded, padded, first > 0);
    }
  }
  T* out = static_cast<T*>(o.out) + (base + queries.first) * q_stride + head * d;
  float* lse = o.lse + (sequence * o.heads + head) * o.sequence + queries.first;
  for (Index i = 0; i < queries.count; ++i) {
    // A query whose scores are all minus infinity attends to nothing: its result is zero.
    const bool is_empty = total[i] == 0;
    const float inverse = is_empty ? 0 : 1.0F / total[i];
    sweep(d, [&](Index c, auto extent) {
      store(out + i * q_stride + c, load(result + i * padded + c) * inverse, extent);
    });
    lse[i] = is_empty ? 0 : peak[i] + __builtin_logf(total[i]);
  }
}
