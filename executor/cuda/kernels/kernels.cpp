#include "executor/cuda/kernels/kernels.hpp"

#include <array>
#include <stdexcept>
#include <string>

#include "executor/cuda/kernels/kernel_backend.hpp"

namespace foreshard::executor::cuda {
namespace {

using Kernel = void (*)(const CudaLaunch&);
using Table = std::array<Kernel, static_cast<std::size_t>(Operator::kCount)>;

constexpr Table make_table() {
  Table table{};
  const auto set = [&table](Operator op, Kernel kernel) {
    table[static_cast<std::size_t>(op)] = kernel;
  };
  set(Operator::attention, run_attention);
  set(Operator::attention_backward, run_attention_backward);
  set(Operator::embedding, run_embedding);
  set(Operator::embedding_backward, run_embedding_backward);
  set(Operator::rms_norm, run_rms_norm);
  set(Operator::rms_norm_backward, run_rms_norm_backward);
  set(Operator::matmul, run_matmul);
  set(Operator::matmul_input_gradient, run_matmul_input_gradient);
  set(Operator::matmul_weight_gradient, run_matmul_weight_gradient);
  set(Operator::bias_gradient, run_bias_gradient);
  set(Operator::rope, run_rope);
  set(Operator::rope_backward, run_rope_backward);
  set(Operator::swiglu, run_swiglu);
  set(Operator::swiglu_backward, run_swiglu_backward);
  set(Operator::add, run_add);
  set(Operator::cross_entropy, run_cross_entropy);
  set(Operator::cross_entropy_backward, run_cross_entropy_backward);
  set(Operator::cast, run_cast);
  set(Operator::fill_zero, run_fill_zero);
  set(Operator::rope_table, run_rope_table);
  set(Operator::shard_cast, run_shard_cast);
  set(Operator::all_gather_copy_in, run_all_gather_copy_in);
  set(Operator::all_gather_copy_out, run_all_gather_copy_out);
  set(Operator::copy_slice, run_copy_slice);
  set(Operator::reduce_scatter_copy_in, run_reduce_scatter_copy_in);
  set(Operator::transpose, run_transpose);
  set(Operator::gradient_norm, run_gradient_norm);
  set(Operator::clip_coefficient, run_clip_coefficient);
  set(Operator::adamw, run_adamw);
  set(Operator::sgd, run_sgd);
  return table;
}

constexpr Table kTable = make_table();

}  // namespace

void run_kernel(const CudaLaunch& launch) {
  for (const auto& backend : launch.tools.backends) {
    if (!backend->computes(launch.key)) continue;
    const auto refusal = backend->run(launch);
    if (!refusal) return;
    launch.tools.run->warn(*refusal);
  }
  const Operator op = launch.key.op;
  const Kernel kernel = kTable[static_cast<std::size_t>(op)];
  if (kernel == nullptr) throw std::logic_error("no CUDA kernel computes " + std::string(name(op)));
  kernel(launch);
}

}  // namespace foreshard::executor::cuda
