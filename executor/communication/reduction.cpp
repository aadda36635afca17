#include "executor/communication/reduction.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <stdexcept>
#include <string>

#include "executor/device/processor.hpp"
#include "models/base/float_formats.hpp"
#include "models/base/units.hpp"

#if defined(__x86_64__)
#define FORESHARD_TARGET(features) __attribute__((target(features)))
#endif

namespace foreshard::executor {
namespace {

constexpr std::int64_t kChunk = 1024;  // elements; stays in the first-level cache

using Inputs = std::span<const std::byte* const>;

// Stored and computed in one type.
template <typename T>
struct Plain {
  using Stored = T;
  using Computed = T;
  static inline __attribute__((always_inline)) T load(T x) { return x; }
  static inline __attribute__((always_inline)) T round(T x) { return x; }
  static inline __attribute__((always_inline)) T store(T x) { return x; }
};

// Stored in the upper half of an fp32, computed in fp32 and rounded to nearest even after each step.
struct Brain {
  using Stored = std::uint16_t;
  using Computed = float;
  static inline __attribute__((always_inline)) float load(std::uint16_t x) {
    return bf16_to_float(x);
  }
  static inline __attribute__((always_inline)) float round(float x) { return rounded_to_bf16(x); }
  static inline __attribute__((always_inline)) std::uint16_t store(float x) {
    return static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(x) >> 16);
  }
};

// What is done to the whole sum. Dividing by a power of two is multiplying by its inverse, exactly.
enum class Finish { nothing, multiply, divide };

template <typename Format, Finish kFinish>
inline __attribute__((always_inline)) typename Format::Stored finished(
    typename Format::Computed sum, typename Format::Computed factor) {
  if constexpr (kFinish == Finish::multiply) sum = Format::round(sum * factor);
  if constexpr (kFinish == Finish::divide) sum = Format::round(sum / factor);
  return Format::store(sum);
}

template <typename Format, Finish kFinish>
inline __attribute__((always_inline)) void reduce_chunks(Inputs inputs, std::byte* output,
                                                         std::int64_t count,
                                                         typename Format::Computed factor) {
  using Stored = typename Format::Stored;
  const auto in = [&](std::size_t i) { return reinterpret_cast<const Stored*>(inputs[i]); };
  const std::size_t last = inputs.size() - 1;
  alignas(64) typename Format::Computed sum[kChunk];
  for (std::int64_t begin = 0; begin < count; begin += kChunk) {
    const std::int64_t n = std::min(kChunk, count - begin);
    const Stored* first = in(0) + begin;
    for (std::int64_t k = 0; k < n; ++k) sum[k] = Format::load(first[k]);
    for (std::size_t i = 1; i < last; ++i) {
      const Stored* next = in(i) + begin;
      for (std::int64_t k = 0; k < n; ++k) sum[k] = Format::round(sum[k] + Format::load(next[k]));
    }
    const Stored* final_input = in(last) + begin;
    Stored* out = reinterpret_cast<Stored*>(output) + begin;
    for (std::int64_t k = 0; k < n; ++k) {
      const auto whole = Format::round(sum[k] + Format::load(final_input[k]));
      out[k] = finished<Format, kFinish>(whole, factor);
    }
  }
}

template <typename Format>
inline __attribute__((always_inline)) void reduce_all(Inputs inputs, std::byte* output,
                                                      std::int64_t count, int divisor) {
  const auto number = static_cast<typename Format::Computed>(divisor);
  if (divisor == 1) {
    reduce_chunks<Format, Finish::nothing>(inputs, output, count, 1);
  } else if (std::has_single_bit(static_cast<unsigned>(divisor))) {
    reduce_chunks<Format, Finish::multiply>(inputs, output, count, 1 / number);
  } else {
    reduce_chunks<Format, Finish::divide>(inputs, output, count, number);
  }
}

using Kernel = void (*)(Inputs, std::byte*, std::int64_t, int);

template <typename Format>
void baseline(Inputs inputs, std::byte* output, std::int64_t count, int divisor) {
  reduce_all<Format>(inputs, output, count, divisor);
}

#if defined(__x86_64__)
template <typename Format>
FORESHARD_TARGET("avx2")
void avx2(Inputs inputs, std::byte* output, std::int64_t count, int divisor) {
  reduce_all<Format>(inputs, output, count, divisor);
}

template <typename Format>
FORESHARD_TARGET("avx512f,avx512bw,avx512vl,avx512dq")
void avx512(Inputs inputs, std::byte* output, std::int64_t count, int divisor) {
  reduce_all<Format>(inputs, output, count, divisor);
}
#endif

template <typename Format>
Kernel kernel() {
#if defined(__x86_64__)
  if (instruction_set() >= InstructionSet::avx512) return avx512<Format>;
  if (instruction_set() == InstructionSet::avx2) return avx2<Format>;
#endif
  return baseline<Format>;
}

}  // namespace

void reduce_in_order(DType type, Inputs inputs, std::byte* output, std::int64_t count,
                     int divisor) {
  if (inputs.size() == 1) {
    const auto bytes = static_cast<std::size_t>(count * item_size(type));
    if (output != inputs[0] && bytes != 0) std::memmove(output, inputs[0], bytes);
    return;
  }
  switch (type) {
    case DType::fp32: return kernel<Plain<float>>()(inputs, output, count, divisor);
    case DType::fp64: return kernel<Plain<double>>()(inputs, output, count, divisor);
    case DType::bf16: return kernel<Brain>()(inputs, output, count, divisor);
    case DType::int32:
    case DType::fp16:
    case DType::fp8: break;
  }
  throw std::invalid_argument("values of type " + std::string(name(type)) + " cannot be reduced");
}

Slice reduced_slice(std::int64_t count, int size, int index) {
  const std::int64_t part = round_up(ceil_divide(count, size), 16);
  const std::int64_t begin = std::min(count, part * index);
  return {begin, std::min(count, begin + part) - begin};
}

}  // namespace foreshard::executor
