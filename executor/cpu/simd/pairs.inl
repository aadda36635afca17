// bf16 products on processors that multiply pairs of bf16 and add both products to an fp32 sum. Two
// neighbours of the summed index make a 32-bit word, the first in its lower half. The including file
// defines FORESHARD_ADD_PAIRS(sum, left, right), unless its tiles take what is packed here. Words
// travel as floats that nobody computes with.
// Needs pack.inl.

#if defined(FORESHARD_ADD_PAIRS)
struct PairedElements {
  static FORESHARD_INLINE Floats spread(const float* word) {
    std::uint32_t bits;
    __builtin_memcpy(&bits, word, sizeof bits);
    return reinterpret_cast<Floats>(Bits{} + bits);
  }
  static FORESHARD_INLINE Floats add_product(Floats sum, Floats left, Floats right) {
    return FORESHARD_ADD_PAIRS(sum, left, right);
  }
};
#endif

// The bits of `count` elements, zeros behind them.
FORESHARD_INLINE Bits bits_of(const BFloat16* p, Index count) {
  return reinterpret_cast<Bits>(count >= kWidth ? load(p) : load(p, most(0, count))) >> 16;
}

struct PackPairs {
  using Element = BFloat16;
#if defined(FORESHARD_ADD_PAIRS)
  using Words = PairedElements;
#endif
  static constexpr Index kWordElements = 2;
  static bool has_words(const MatrixProduct& p) {
    return p.a_step == 1 && p.a_row % 2 == 0 && p.k % 2 == 0;
  }

  template <int kPanel>
  static FORESHARD_INLINE void pack_panels(const BFloat16* from, Index lane_stride,
                                           Index step_stride, Index lanes, Index elements,
                                           float* to) {
    const Index words = (elements + 1) / 2, whole = elements / 2;
    if (lane_stride == 1) {
      join_steps<kPanel>(from, step_stride, lanes, elements, to);
    } else if (elements == 2 * whole) {
      // Rows are made of words already.
      pack_words<kPanel>(from, lane_stride, lanes, words, to);
    } else {
      pack_unpaired<kPanel>(from, lane_stride, lanes, elements, to);
    }
  }

  // Lanes are neighbours: two steps interleave.
  template <int kPanel>
  static FORESHARD_INLINE void join_steps(const BFloat16* from, Index step_stride, Index lanes,
                                          Index elements, float* to) {
    const Index words = (elements + 1) / 2;
    constexpr Index kSteps = 8;
    for (Index begin = 0; begin < words; begin += kSteps) {
      const Index end = least(words, begin + kSteps);
      for (Index first = 0; first < lanes; first += kPanel) {
        float* panel = to + first * words;
        for (Index s = begin; s < end; ++s) {
          const BFloat16* low = from + 2 * s * step_stride + first;
          for (Index lane = 0; lane < kPanel; lane += kWidth) {
            const Index present = lanes - first - lane;
            Bits word = bits_of(low + lane, present);
            if (2 * s + 1 < elements) word |= bits_of(low + step_stride + lane, present) << 16;
            const Floats x = reinterpret_cast<Floats>(word);
            if (lane + kWidth <= kPanel) {
              store(panel + s * kPanel + lane, x);
            } else {
              store(panel + s * kPanel + lane, x, kPanel - lane);
            }
          }
        }
      }
    }
  }

  template <int kPanel>
  static FORESHARD_INLINE void pack_words(const BFloat16* from, Index lane_stride, Index lanes,
                                          Index words, float* to) {
    for (Index first = 0; first < lanes; first += kPanel, to += kPanel * words) {
      const Index count = least(kPanel, lanes - first);
      const BFloat16* panel = from + first * lane_stride;
      for (Index lane = 0; lane < kPanel; lane += kWidth) {
        for (Index s = 0; s < words; s += kWidth) {
          const Index present = least(kWidth, words - s);
          Floats rows[kWidth];
          for (Index i = 0; i < kWidth; ++i) {
            rows[i] = Floats{};
            if (lane + i >= count) continue;
            const BFloat16* source = panel + (lane + i) * lane_stride + 2 * s;
            if (present == kWidth) {
              __builtin_memcpy(&rows[i], source, sizeof(Floats));
            } else {
              rows[i] = load(reinterpret_cast<const float*>(source), present);
            }
          }
          transpose(rows);
          for (Index i = 0; i < present; ++i) {
            store_lanes<kPanel>(to + (s + i) * kPanel, lane, rows[i]);
          }
        }
      }
    }
  }

  // An odd number of elements: the last word's upper half is zero.
  template <int kPanel>
  static FORESHARD_INLINE void pack_unpaired(const BFloat16* from, Index lane_stride, Index lanes,
                                             Index elements, float* to) {
    const Index words = (elements + 1) / 2;
    for (Index lane = 0; lane < up(lanes, kPanel); ++lane) {
      float* column = to + lane / kPanel * kPanel * words + lane % kPanel;
      for (Index s = 0; s < words; ++s) {
        std::uint32_t word = 0;
        const BFloat16* source = from + lane * lane_stride + 2 * s;
        const std::size_t bytes = 2 * s + 1 < elements ? 4 : 2;
        if (lane < lanes) __builtin_memcpy(&word, source, bytes);
        __builtin_memcpy(column + s * kPanel, &word, sizeof word);
      }
    }
  }
};

// Rows whose elements are neighbours, with zeros behind them.
FORESHARD_INLINE void copy_rows(const BFloat16* from, Index lane_stride, Index lanes,
                                Index elements, float* to, Index stride) {
  const auto bytes = static_cast<std::size_t>(elements) * sizeof(BFloat16);
  for (Index lane = 0; lane < lanes; ++lane) {
    float* const row = to + lane * stride;
    __builtin_memset(row, 0, static_cast<std::size_t>(stride) * sizeof(float));
    __builtin_memcpy(row, from + lane * lane_stride, bytes);
  }
}
