// Packing for matrix products: panels of kPanel lanes (rows of a, columns of b), in each of which the
// lanes of a step are neighbours. Needs vector.inl.

FORESHARD_INLINE Index least(Index a, Index b) {
  return a < b ? a : b;
}
FORESHARD_INLINE Index most(Index a, Index b) {
  return a > b ? a : b;
}
FORESHARD_INLINE Index up(Index n, Index step) {
  return (n + step - 1) / step * step;
}
FORESHARD_INLINE Index down(Index n, Index step) {
  return n / step * step;
}

// One step's lanes of a panel. A first vector longer than the panel spills into the next step, which
// is written after it; later vectors must not, for lanes before them are there already.
template <int kPanel>
FORESHARD_INLINE void store_lanes(float* step, Index lane, Floats x) {
  if (lane > 0 && lane + kWidth > kPanel) {
    store(step + lane, x, kPanel % kWidth);
  } else {
    store(step + lane, x);
  }
}

// Lanes are neighbours in memory: they are copied step by step. A few steps are taken through all
// panels before the next ones, so that every cache line of the source is read once even where steps
// lie a power of two apart.
template <int kPanel, class T>
FORESHARD_INLINE void pack_by_copying(const T* from, Index step_stride, Index lanes, Index steps,
                                      float* to) {
  constexpr Index kSteps = 8;
  for (Index begin = 0; begin < steps; begin += kSteps) {
    const Index end = least(steps, begin + kSteps);
    for (Index first = 0; first < lanes; first += kPanel) {
      float* panel = to + first * steps;
      // The last step spills where the next panel's first step lies already: it goes with the edges.
      Index s = begin;
      if (first + up(kPanel, kWidth) <= lanes) {
        for (; s < end - (end == steps ? 1 : 0); ++s) {
          const T* source = from + s * step_stride + first;
          __builtin_prefetch(source + kSteps * step_stride);
          for (Index lane = 0; lane < kPanel; lane += kWidth) {
            store_lanes<kPanel>(panel + s * kPanel, lane, load(source + lane));
          }
        }
      }
      for (; s < end; ++s) {
        const T* source = from + s * step_stride + first;
        for (Index lane = 0; lane < kPanel; lane += kWidth) {
          const Index present = most(0, least(kWidth, lanes - first - lane));
          store(panel + s * kPanel + lane, load(source + lane, present),
                least(kWidth, kPanel - lane));
        }
      }
    }
  }
}

// Steps are neighbours in memory: blocks of kWidth lanes and steps are transposed.
template <int kPanel, class T>
FORESHARD_INLINE void pack_by_transposing(const T* from, Index lane_stride, Index lanes,
                                          Index steps, float* to) {
  for (Index first = 0; first < lanes; first += kPanel, to += kPanel * steps) {
    const Index count = least(kPanel, lanes - first);
    const T* panel = from + first * lane_stride;
    for (Index lane = 0; lane < kPanel; lane += kWidth) {
      Index s = 0;
      for (; s + kWidth <= steps; s += kWidth) {
        Floats rows[kWidth];
        for (Index i = 0; i < kWidth; ++i) {
          const T* source = panel + (lane + i) * lane_stride + s;
          __builtin_prefetch(source + kPanel * lane_stride);
          rows[i] = lane + i < count ? load(source) : Floats{};
        }
        transpose(rows);
        for (int i = 0; i < kWidth; ++i) store_lanes<kPanel>(to + (s + i) * kPanel, lane, rows[i]);
      }
      for (; s < steps; ++s) {
        Floats column = {};
        for (Index i = 0; i < kWidth && lane + i < count; ++i) {
          column[i] = to_float(panel[(lane + i) * lane_stride + s]);
        }
        store_lanes<kPanel>(to + s * kPanel, lane, column);
      }
    }
  }
}

// Packs `lanes` x `steps` elements into panels of kPanel lanes: to[step][lane]. Lanes that do not
// exist are zero. Writes up to kWidth floats past the end.
template <int kPanel, class T>
FORESHARD_INLINE void pack(const T* from, Index lane_stride, Index step_stride, Index lanes,
                           Index steps, float* to) {
  if (lane_stride == 1) {
    pack_by_copying<kPanel>(from, step_stride, lanes, steps, to);
  } else {
    pack_by_transposing<kPanel>(from, lane_stride, lanes, steps, to);
  }
}
