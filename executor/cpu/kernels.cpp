#include "executor/cpu/kernels.hpp"

#include <stdexcept>
#include <string>

#include "executor/cpu/operands.hpp"

namespace foreshard::executor {
namespace {

constexpr KernelTable make_table() {
  KernelTable table;
  table.set(Operator::embedding, run_embedding);
  table.set(Operator::embedding_backward, run_embedding_backward);
  table.set(Operator::rms_norm, run_rms_norm);
  table.set(Operator::rms_norm_backward, run_rms_norm_backward);
  table.set(Operator::matmul, run_matmul);
  table.set(Operator::matmul_input_gradient, run_matmul_input_gradient);
  table.set(Operator::matmul_weight_gradient, run_matmul_weight_gradient);
  table.set(Operator::bias_gradient, run_bias_gradient);
  table.set(Operator::rope, run_rope);
  table.set(Operator::rope_backward, run_rope_backward);
  table.set(Operator::attention, run_attention);
  table.set(Operator::attention_backward, run_attention_backward);
  table.set(Operator::swiglu, run_swiglu);
  table.set(Operator::swiglu_backward, run_swiglu_backward);
  table.set(Operator::add, run_add);
  table.set(Operator::cross_entropy, run_cross_entropy);
  table.set(Operator::cross_entropy_backward, run_cross_entropy_backward);
  table.set(Operator::cast, run_cast);
  table.set(Operator::fill_zero, run_fill_zero);
  table.set(Operator::rope_table, run_rope_table);
  table.set(Operator::shard_cast, run_shard_cast);
  table.set(Operator::all_gather_copy_in, run_all_gather_copy_in);
  table.set(Operator::all_gather_copy_out, run_all_gather_copy_out);
  table.set(Operator::copy_slice, run_copy_slice);
  table.set(Operator::reduce_scatter_copy_in, run_reduce_scatter_copy_in);
  table.set(Operator::transpose, run_transpose);
  table.set(Operator::gradient_norm, run_gradient_norm);
  table.set(Operator::clip_coefficient, run_clip_coefficient);
  table.set(Operator::adamw, run_adamw);
  table.set(Operator::sgd, run_sgd);
  return table;
}

constexpr KernelTable kTable = make_table();

}  // namespace

Kernel KernelTable::operator[](Operator op) const {
  const Kernel kernel = kernels_[static_cast<std::size_t>(op)];
  if (kernel == nullptr) {
    throw std::logic_error("no kernel computes " + std::string(name(op)));
  }
  return kernel;
}

const KernelTable& cpu_kernels() {
  return kTable;
}

}  // namespace foreshard::executor
