#include "executor/communication/reduction.hpp"

#include <algorithm>
#include <cstring>
#include <stdexcept>
#include <string>

#include "executor/cpu/simd/table.hpp"
#include "models/base/units.hpp"

namespace foreshard::executor {
namespace {

using Inputs = std::span<const std::byte* const>;

// fp32 or bf16, at least two inputs.
void reduce_vectors(DType type, Inputs inputs, std::byte* output, std::int64_t count, float by) {
  constexpr std::int64_t kChunk = 4096;  // bytes; stays in the first-level cache
  const SimdKernels& simd = simd_kernels();
  const std::size_t v = variant(type), last = inputs.size() - 1;
  const std::int64_t item = item_size(type), bytes = count * item;
  alignas(64) std::byte sum[kChunk];
  for (std::int64_t begin = 0; begin < bytes; begin += kChunk) {
    const std::int64_t n = std::min(kChunk, bytes - begin) / item;
    const std::byte* so_far = inputs[0] + begin;
    for (std::size_t i = 1; i < last; ++i) {
      simd.add_and_divide[v](so_far, inputs[i] + begin, sum, n, 1);
      so_far = sum;
    }
    simd.add_and_divide[v](so_far, inputs[last] + begin, output + begin, n, by);
  }
}

// Norms, which are few numbers.
void reduce_doubles(Inputs inputs, std::byte* output, std::int64_t count, double by) {
  for (std::int64_t k = 0; k < count; ++k) {
    const auto in = [k](const std::byte* input) {
      return reinterpret_cast<const double*>(input)[k];
    };
    double sum = in(inputs[0]);
    for (const std::byte* input : inputs.subspan(1)) sum += in(input);
    reinterpret_cast<double*>(output)[k] = sum / by;
  }
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
    case DType::fp32:
    case DType::bf16:
      return reduce_vectors(type, inputs, output, count, static_cast<float>(divisor));
    case DType::fp64: return reduce_doubles(inputs, output, count, divisor);
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
