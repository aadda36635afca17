// Causal attention, within a window or back to the first token, in tiles, without a score matrix in memory
// (FlashAttention's recurrences, Dao 2022 and 2023), over the products that `Products` stands for. Needs attention_products.inl.
//
// Scores are computed transposed, keys down and queries across: the softmax then runs along vectors
// of neighbouring queries without horizontal sums. A tile takes `tile` queries and keys, of which each
// panel of kTileColumns queries has those from the first to the last key that any of them sees.
//
// Tiles live on the stack of the thread, which takes what heads of this length need: below 0.5 MiB
// up to 256; for the longest 0.50 MiB here and 0.88 MiB in the backward.

#define FORESHARD_STACK_STRETCH(floats)                                                        \
  Stretch {                                                                                    \
    static_cast<float*>(                                                                       \
        __builtin_alloca_with_align(static_cast<std::size_t>(floats) * sizeof(float), 8 * 64)) \
  }

constexpr Index kMaxQueries = attention_tile(1);  // of a tile: those of short heads
constexpr float kMasked = -__builtin_inff();      // a score nobody may see; its exponential is 0

// What exponents are counted from: the largest score so far, or 0 while none is above minus infinity.
FORESHARD_INLINE Floats reference_of(Floats peak) {
  return peak == kMasked ? Floats{} : peak;
}

FORESHARD_INLINE Ints lanes() {
  Ints n = {};
  for (int i = 0; i < kWidth; ++i) n[i] = i;
  return n;
}

// Queries q .. q + kWidth of a tile that do not see a key of it, as a mask.
FORESHARD_INLINE Ints hidden_from(Index first_query, Index q, const Keys& keys, Index key) {
  const Index own = keys.first + key - first_query - q;  // the lane of the key's own query
  return (lanes() < static_cast<std::int32_t>(own)) |
         (lanes() >= static_cast<std::int32_t>(own + keys.window));
}

template <class Products>
void attention(const AttentionOperands& o, Index sequence, Index head, Index tile_index) {
  using T = typename Products::Element;
  const Index d = o.head_dim, padded = up(d, kTileColumns), tile = attention_tile(d);
  const Index group = o.heads / o.kv_heads;
  const Index q_stride = o.heads * d, kv_stride = o.kv_heads * d;
  const float scale = 1.0F / __builtin_sqrtf(static_cast<float>(d));
  const Index base = sequence * o.sequence;
  const T* q = static_cast<const T*>(o.q) + base * q_stride + head * d;
  const T* k = static_cast<const T*>(o.k) + base * kv_stride + head / group * d;
  const T* v = static_cast<const T*>(o.v) + base * kv_stride + head / group * d;

  alignas(64) float peak[kMaxQueries], total[kMaxQueries];
  const Stretch stretch = FORESHARD_STACK_STRETCH(Products::floats(d));
  const Products at(stretch, d);
  float* const scores = at.scores;

  const Queries queries{tile_index * tile, least(tile, o.sequence - tile_index * tile)};
  const Index panels = up(queries.count, kTileColumns);
  at.load_queries(q + queries.first * q_stride, q_stride, queries.count);
  for (Index i = 0; i < panels; i += kWidth) {
    store(peak + i, broadcast(kMasked));
    store(total + i, Floats{});
  }
  const Index begin = first_tile(queries.first, o.window, tile);
  for (Index first = begin; first < queries.first + queries.count; first += tile) {
    const Keys keys{first, least(tile, queries.first + queries.count - first), o.window};
    at.load_keys(k + first * kv_stride, v + first * kv_stride, kv_stride, keys.count);
    for (Index panel = 0; panel < panels; panel += kTileColumns) {
      const Index seen = keys.visible(queries.first, panel + kTileColumns - 1);
      const Index from = down(keys.passed(queries.first, panel), Products::kKeyStep);
      at.score(panel, from, seen);
      if (from == seen) continue;
      for (Index i = panel; i < panel + kTileColumns; i += kWidth) {
        const auto mask = [&](Index key, Index end) {
          for (; key < end; ++key) {
            float* x = scores + key * tile + i;
            store(x, hidden_from(queries.first, i, keys, key) ? broadcast(kMasked) : load(x));
          }
        };
        const Index all_see_from = keys.passed(queries.first, i + kWidth - 1);
        mask(from, all_see_from);
        mask(most(all_see_from, keys.visible(queries.first, i)), seen);
        const Floats old_peak = load(peak + i);
        Floats new_peak = old_peak;
        // One instruction a key, in a chain: it passes over NaN, which arrives by the sums.
        for (Index key = from; key < seen; ++key) {
          new_peak = larger_or_second(load(scores + key * tile + i) * scale, new_peak);
        }
        const Floats reference = reference_of(new_peak);
        const Floats shrink = exponential(old_peak - reference);
        Floats sums = load(total + i) * shrink;
        for (Index key = from; key < seen; ++key) {
          float* x = scores + key * tile + i;
          const Floats p = exponential(load(x) * scale - reference);
          store(x, p);
          sums += p;
        }
        store(total + i, sums);
        store(peak + i, new_peak);
        if (first > begin) at.rescale(queries, i, shrink);
      }
    }
    at.add_values(queries, keys, first > begin);
  }
  const float* const result = at.result_rows(queries);
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
