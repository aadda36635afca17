// Matrix products of any size: blocks of both operands are packed (and widened to fp32) into the
// workspace in the order in which tiles read them. The summed index is cut into blocks that depend
// on its length alone, so every element is summed in the same order whatever the thread count.
//
// fp32 results collect their blocks in place. bf16 results whose sum takes more than one block
// collect them in fp32 in the workspace and round once at the end.

constexpr Index kDepth = 400;  // longest block of the summed index

FORESHARD_INLINE Index least(Index a, Index b) {
  return a < b ? a : b;
}
FORESHARD_INLINE Index most(Index a, Index b) {
  return a > b ? a : b;
}
FORESHARD_INLINE Index up(Index n, Index step) {
  return (n + step - 1) / step * step;
}

// The size of equal blocks that n falls into when none may exceed `limit`, a multiple of `step`.
FORESHARD_INLINE Index block_size(Index n, Index limit, Index step) {
  const Index largest_block = most(limit / step * step, step);
  const Index blocks = (n + largest_block - 1) / largest_block;
  return up((n + blocks - 1) / blocks, step);
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
          rows[i] = lane + i < count ? load(panel + (lane + i) * lane_stride + s) : Floats{};
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

// Packed a (panels of kTileRows) times packed b (panels of kTileColumns).
template <class C>
FORESHARD_INLINE void multiply_packed(Index m, Index n, Index steps, const float* a, const float* b,
                                      TileTarget<C> target) {
  C* const c = target.c;
  const C* const bias = target.bias;
  for (Index j = 0; j < n; j += kTileColumns) {
    target.bias = bias == nullptr ? nullptr : bias + j;
    for (Index i = 0; i < m; i += kTileRows) {
      target.c = c + i * target.row_stride + j;
      multiply_rows(static_cast<int>(least(kTileRows, m - i)), steps, PackedRows{a + i * steps},
                    b + j * steps, kTileColumns, target, n - j,
                    std::make_integer_sequence<int, kTileRows>{});
    }
  }
}

// Each block of c is finished by one pass over the summed index, or collects in place (fp32).
template <class T>
void multiply_direct(const MatrixProduct& p, Index m0, Index m1, Index n0, Index n1, Index depth,
                     float* workspace, Index floats) {
  const T* a = static_cast<const T*>(p.a);
  const T* b = static_cast<const T*>(p.b);
  T* c = static_cast<T*>(p.c);
  const Index columns = block_size(n1 - n0, floats * 5 / 8 / depth, kTileColumns);
  float* const packed_b = workspace;
  float* const packed_a = workspace + columns * depth;
  const Index rows =
      block_size(m1 - m0, (floats - columns * depth - 2 * kWidth) / depth, kTileRows);
  for (Index k = 0; k < p.k; k += depth) {
    const Index steps = least(depth, p.k - k);
    const bool last = k + steps == p.k;
    for (Index n = n0; n < n1; n += columns) {
      const Index width = least(columns, n1 - n);
      pack<kTileColumns>(b + n * p.b_column + k * p.b_step, p.b_column, p.b_step, width, steps,
                         packed_b);
      for (Index m = m0; m < m1; m += rows) {
        const Index height = least(rows, m1 - m);
        pack<kTileRows>(a + m * p.a_row + k * p.a_step, p.a_row, p.a_step, height, steps, packed_a);
        const T* bias = p.bias != nullptr && last ? static_cast<const T*>(p.bias) + n : nullptr;
        multiply_packed(height, width, steps, packed_a, packed_b,
                        TileTarget<T>{c + m * p.c_row + n, p.c_row, bias, p.accumulate || k > 0});
      }
    }
  }
}

// Each block of c collects in fp32 in the workspace and is rounded when it is complete.
template <class T>
void multiply_staged(const MatrixProduct& p, Index m0, Index m1, Index n0, Index n1, Index depth,
                     float* workspace, Index floats) {
  const T* a = static_cast<const T*>(p.a);
  const T* b = static_cast<const T*>(p.b);
  T* c = static_cast<T*>(p.c);
  // Largest x with x*x + 2*x*depth <= floats: the sum and one block of each operand.
  const double half = static_cast<double>(depth);
  const Index side = static_cast<Index>(
      __builtin_sqrt(half * half + static_cast<double>(floats - 4 * kWidth)) - half);
  const Index columns = block_size(n1 - n0, side, kTileColumns);
  const Index rows =
      block_size(m1 - m0, (floats - 2 * kWidth - columns * depth) / (columns + depth), kTileRows);
  float* const sum_block = workspace;
  float* const packed_b = sum_block + rows * columns;
  float* const packed_a = packed_b + columns * depth;
  for (Index n = n0; n < n1; n += columns) {
    const Index width = least(columns, n1 - n);
    for (Index m = m0; m < m1; m += rows) {
      const Index height = least(rows, m1 - m);
      for (Index k = 0; k < p.k; k += depth) {
        const Index steps = least(depth, p.k - k);
        pack<kTileColumns>(b + n * p.b_column + k * p.b_step, p.b_column, p.b_step, width, steps,
                           packed_b);
        pack<kTileRows>(a + m * p.a_row + k * p.a_step, p.a_row, p.a_step, height, steps, packed_a);
        multiply_packed(height, width, steps, packed_a, packed_b,
                        TileTarget<float>{sum_block, columns, nullptr, k > 0});
      }
      const TileTarget<T> target{c + m * p.c_row + n, p.c_row,
                                 p.bias == nullptr ? nullptr : static_cast<const T*>(p.bias) + n,
                                 p.accumulate};
      for (Index i = 0; i < height; ++i) {
        sweep(width, [&](Index j, auto extent) {
          finish(target, i, j, load(sum_block + i * columns + j, extent), extent);
        });
      }
    }
  }
}

template <class T>
void multiply(const MatrixProduct& p, Index m_begin, Index m_end, Index n_begin, Index n_end,
              std::span<float> workspace) {
  if (m_begin >= m_end || n_begin >= n_end) return;
  const Index depth = block_size(p.k, kDepth, 8);
  const Index floats = static_cast<Index>(workspace.size());
  if (sizeof(T) == sizeof(float) || p.k <= depth) {
    multiply_direct<T>(p, m_begin, m_end, n_begin, n_end, depth, workspace.data(), floats);
  } else {
    multiply_staged<T>(p, m_begin, m_end, n_begin, n_end, depth, workspace.data(), floats);
  }
}
