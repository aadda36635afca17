// Vectors of kWidth floats, for one instruction set. Included inside the anonymous namespace of one
// translation unit per instruction set, which defines kWidth and opens the target before it. Only
// compiler vector extensions are used, so that the same text serves SSE, AVX2, AVX-512 and NEON.
//
// Elements at the end of a row pass through the same operations as all others (loads and stores of
// a count below kWidth), so a result never depends on where in a vector an element lies.

using Index = std::int64_t;

typedef float Floats __attribute__((vector_size(kWidth * 4)));
typedef std::int32_t Ints __attribute__((vector_size(kWidth * 4)));
typedef std::uint32_t Bits __attribute__((vector_size(kWidth * 4)));
typedef std::uint16_t Halves __attribute__((vector_size(kWidth * 2)));
typedef double Doubles __attribute__((vector_size(kWidth * 8)));
typedef float FloatsInMemory __attribute__((vector_size(kWidth * 4), aligned(4), may_alias));
typedef std::uint16_t HalvesInMemory
    __attribute__((vector_size(kWidth * 2), aligned(2), may_alias));

#define FORESHARD_INLINE inline __attribute__((always_inline))

FORESHARD_INLINE Floats broadcast(float x) {
  return x - Floats{};
}

FORESHARD_INLINE Floats load(const float* p) {
  return *reinterpret_cast<const FloatsInMemory*>(p);
}
FORESHARD_INLINE void store(float* p, Floats x) {
  *reinterpret_cast<FloatsInMemory*>(p) = x;
}

// The including file may define FORESHARD_EXTEND(halves), where the compiler does not find the one
// instruction that zero-extends a whole vector.
FORESHARD_INLINE Floats widen(Halves h) {
#if defined(FORESHARD_EXTEND)
  return reinterpret_cast<Floats>(FORESHARD_EXTEND(h) << 16);
#else
  return reinterpret_cast<Floats>(__builtin_convertvector(h, Bits) << 16);
#endif
}
// float_to_bf16() of every lane, in the lower halves.
FORESHARD_INLINE Bits rounded_bits(Floats x) {
  const Bits bits = reinterpret_cast<Bits>(x);
  const Bits rounded = (bits + 0x7fffU + ((bits >> 16) & 1U)) >> 16;
  const Bits nan = Bits{} + kBf16Nan;
  return x == x ? rounded : nan;
}
FORESHARD_INLINE Halves narrow(Floats x) {
  return __builtin_convertvector(rounded_bits(x), Halves);
}

FORESHARD_INLINE Floats load(const BFloat16* p) {
  return widen(*reinterpret_cast<const HalvesInMemory*>(p));
}
FORESHARD_INLINE void store(BFloat16* p, Floats x) {
  *reinterpret_cast<HalvesInMemory*>(p) = narrow(x);
}

// The including file may define FORESHARD_MASKED_PARTS, with load_part and store_part of its own.
#if defined(FORESHARD_MASKED_PARTS)
FORESHARD_INLINE Floats load(const float* p, Index count) {
  return reinterpret_cast<Floats>(load_part(p, count));
}
FORESHARD_INLINE void store(float* p, Floats x, Index count) {
  store_part(p, reinterpret_cast<decltype(load_part(p, count))>(x), count);
}
FORESHARD_INLINE Floats load(const BFloat16* p, Index count) {
  return widen(reinterpret_cast<Halves>(load_part(&p->bits, count)));
}
FORESHARD_INLINE void store(BFloat16* p, Floats x, Index count) {
  store_part(&p->bits, reinterpret_cast<decltype(load_part(&p->bits, count))>(narrow(x)), count);
}
#else
template <class T>
FORESHARD_INLINE Floats load(const T* p, Index count) {
  T padded[kWidth] = {};
  __builtin_memcpy(padded, p, static_cast<std::size_t>(count) * sizeof(T));
  return load(padded);
}
template <class T>
FORESHARD_INLINE void store(T* p, Floats x, Index count) {
  T padded[kWidth];
  store(padded, x);
  __builtin_memcpy(p, padded, static_cast<std::size_t>(count) * sizeof(T));
}
#endif

// All kWidth elements, or the first `count` of them: how loads and stores of a loop body are told
// that they stand at the end of a row.
struct Whole {};
struct Part {
  Index count;
};
template <class T>
FORESHARD_INLINE Floats load(const T* p, Whole) {
  return load(p);
}
template <class T>
FORESHARD_INLINE Floats load(const T* p, Part part) {
  return load(p, part.count);
}
template <class T>
FORESHARD_INLINE void store(T* p, Floats x, Whole) {
  store(p, x);
}
template <class T>
FORESHARD_INLINE void store(T* p, Floats x, Part part) {
  store(p, x, part.count);
}

// body(i, extent) for i = 0, kWidth, ... below n.
template <class Body>
FORESHARD_INLINE void sweep(Index n, Body&& body) {
  Index i = 0;
  for (; i + kWidth <= n; i += kWidth) body(i, Whole{});
  if (i < n) body(i, Part{n - i});
}

// The larger of two, in one instruction; b where they cannot be compared.
FORESHARD_INLINE Floats larger_or_second(Floats a, Floats b) {
  return a > b ? a : b;
}

FORESHARD_INLINE Floats square_root(Floats x) {
  Floats y;
  for (int i = 0; i < kWidth; ++i) y[i] = __builtin_sqrtf(x[i]);
  return y;
}

// The sum of all lanes, halving the vector until one is left.
template <class V>
FORESHARD_INLINE auto sum(const V& lanes) {
  V x = lanes;
  for (int half = kWidth / 2; half > 0; half /= 2) {
    for (int i = 0; i < half; ++i) x[i] += x[i + half];
  }
  return x[0];
}
FORESHARD_INLINE float larger(float a, float b) {
  return a > b || a != a ? a : b;
}
// The largest lane; NaN where any is.
FORESHARD_INLINE float largest(Floats x) {
  float m = x[0];
  for (int i = 1; i < kWidth; ++i) m = larger(m, x[i]);
  return m;
}

// e^x within 2 ulp; 0 below the smallest normal result, infinite above 88.3, NaN for NaN. Range
// reduction by ln 2 in two parts (Cody and Waite) and the minimax polynomial of degree 5 of the
// Cephes library.
FORESHARD_INLINE Floats exponential(Floats x) {
  constexpr float kLargest = 89.0F, kSmallest = -87.33654F;
  // A comparison with NaN is false: NaN passes, and stays one whatever its integer part becomes.
  const Floats below = x > kLargest ? broadcast(kLargest) : x;
  const Floats clamped = below < kSmallest ? broadcast(kSmallest) : below;
  constexpr float kRound = 12582912.0F;  // 1.5 * 2^23: adding it rounds to an integer
  const Floats n = (clamped * 1.44269504088896341F + kRound) - kRound;
  Floats r = clamped - n * 0.693359375F;
  r = r + n * 2.12194440e-4F;
  Floats p = r * 1.9875691500e-4F + 1.3981999507e-3F;
  p = p * r + 8.3334519073e-3F;
  p = p * r + 4.1665795894e-2F;
  p = p * r + 1.6666665459e-1F;
  p = p * r + 5.0000001201e-1F;
  const Floats y = (p * (r * r) + r) + 1.0F;
  const Floats scale = reinterpret_cast<Floats>((__builtin_convertvector(n, Ints) + 127) << 23);
  return x <= kSmallest ? Floats{} : y * scale;
}

// Transposes a kWidth x kWidth block held in registers: log2(kWidth) rounds of exchanging blocks.
template <int kBlock, int... I>
FORESHARD_INLINE void exchange(Floats& a, Floats& b, std::integer_sequence<int, I...>) {
  const Floats low = __builtin_shufflevector(a, b, ((I & kBlock) ? kWidth + I - kBlock : I)...);
  b = __builtin_shufflevector(a, b, ((I & kBlock) ? kWidth + I : I + kBlock)...);
  a = low;
}
template <int kBlock = 1>
FORESHARD_INLINE void transpose(Floats (&rows)[kWidth]) {
  if constexpr (kBlock < kWidth) {
    for (int i = 0; i < kWidth; ++i) {
      if ((i & kBlock) == 0) {
        exchange<kBlock>(rows[i], rows[i + kBlock], std::make_integer_sequence<int, kWidth>{});
      }
    }
    transpose<kBlock * 2>(rows);
  }
}
