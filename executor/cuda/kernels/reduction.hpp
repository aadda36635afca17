// The sum of a collective among ranks that read each other's memory, as the host makes it
// (executor/communication/reduction.hpp): bit for bit the same, but for the payload of NaNs in fp32 and
// fp64.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include <cuda_runtime_api.h>

#include "models/base/dtype.hpp"

namespace foreshard::executor::cuda {

// More inputs are refused (std::runtime_error): their addresses are arguments of the kernel.
constexpr std::size_t kMostSummands = 256;

// Adds the inputs, `count` elements each, one after the other in their own type, rounded after every
// addition; for an average, divides by their number. The output may be the last input. Types: fp32,
// bf16, fp64; std::invalid_argument otherwise.
void reduce_in_order(cudaStream_t stream, DType type, bool is_average,
                     std::span<const std::byte* const> inputs, std::byte* output,
                     std::int64_t count);

}  // namespace foreshard::executor::cuda
