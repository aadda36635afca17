// Short names of kernels and operators for tables.
//
// The name of a templated kernel is its whole C++ signature, hundreds of characters of which few tell
// it from others: the functor of PyTorch's elementwise and reduce kernels, the type of the elements.
// Those are kept, in the words of the name itself, so that they can be searched for elsewhere:
//
//   void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<c10::BFloat16>,
//     std::array<char*, 3ul> >(...)                  vectorized_elementwise_kernel<CUDAFunctor_add bf16>
//   void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float, at::native::MeanOps<float, ...
//                                                    reduce_kernel<MeanOps fp32>
//   void cutlass::Kernel2<cutlass_80_simt_sgemm_128x32_8x5_nn_align1>(...)
//                                                    cutlass_80_simt_sgemm_128x32_8x5_nn_align1
//   autograd::engine::evaluate_function: MmBackward0 autograd: MmBackward0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace foreshard::profiler {

constexpr std::size_t kNameWidth = 56;

// At most `most` characters; what is cut off shows as "…".
std::string short_name(std::string_view name, std::size_t most = kNameWidth);

// Of each; where two different names would look the same, with as much more as distinguishes them.
std::vector<std::string> short_names(const std::vector<std::string>& names,
                                     std::size_t most = kNameWidth);

}  // namespace foreshard::profiler
