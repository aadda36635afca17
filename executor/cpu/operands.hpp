// How kernels read their arguments: typed operands, dimensions, and work shared by a grain.
#pragma once

#include "executor/cpu/kernels.hpp"
#include "executor/cpu/simd/bfloat16.hpp"
#include "executor/cpu/simd/table.hpp"

namespace foreshard::executor {

template <class T>
const T* input(const KernelArguments& a, std::size_t i) {
  return reinterpret_cast<const T*>(a.reads[i].data());
}
inline const std::byte* input(const KernelArguments& a, std::size_t i) {
  return a.reads[i].data();
}

template <class T>
T* output(const KernelArguments& a, std::size_t i) {
  return reinterpret_cast<T*>(a.writes[i].data());
}
inline std::byte* output(const KernelArguments& a, std::size_t i) {
  return a.writes[i].data();
}

// Elements handed to a thread at a time by operators that stream through memory.
constexpr std::int64_t kGrain = 16384;

// Rows of `width` elements that make up about one grain.
constexpr std::int64_t rows_per_grain(std::int64_t width) {
  return width >= kGrain ? 1 : kGrain / (width > 0 ? width : 1);
}

// Kernels by theme; the table in kernels.cpp assigns them to operators.
void run_matmul(const KernelArguments& a);
void run_matmul_input_gradient(const KernelArguments& a);
void run_matmul_weight_gradient(const KernelArguments& a);
void run_bias_gradient(const KernelArguments& a);
void run_attention(const KernelArguments& a);
void run_attention_backward(const KernelArguments& a);
void run_rms_norm(const KernelArguments& a);
void run_rms_norm_backward(const KernelArguments& a);
void run_rope_table(const KernelArguments& a);
void run_rope(const KernelArguments& a);
void run_rope_backward(const KernelArguments& a);
void run_cross_entropy(const KernelArguments& a);
void run_cross_entropy_backward(const KernelArguments& a);
void run_embedding(const KernelArguments& a);
void run_embedding_backward(const KernelArguments& a);
void run_swiglu(const KernelArguments& a);
void run_swiglu_backward(const KernelArguments& a);
void run_add(const KernelArguments& a);
void run_cast(const KernelArguments& a);
void run_fill_zero(const KernelArguments& a);
void run_shard_cast(const KernelArguments& a);
void run_all_gather_copy_in(const KernelArguments& a);
void run_all_gather_copy_out(const KernelArguments& a);
void run_copy_slice(const KernelArguments& a);
void run_reduce_scatter_copy_in(const KernelArguments& a);
void run_transpose(const KernelArguments& a);
void run_gradient_norm(const KernelArguments& a);
void run_clip_coefficient(const KernelArguments& a);
void run_adamw(const KernelArguments& a);
void run_sgd(const KernelArguments& a);

}  // namespace foreshard::executor
