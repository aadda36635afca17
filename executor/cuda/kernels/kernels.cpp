#include "executor/cuda/kernels/kernels.hpp"

#include <array>
#include <stdexcept>
#include <string>

namespace foreshard::executor::cuda {
namespace {

using Table = std::array<CudaKernel, static_cast<std::size_t>(Operator::kCount)>;

constexpr Table make_table() {
  Table table{};
  const auto set = [&table](Operator op, CudaKernel kernel) {
    table[static_cast<std::size_t>(op)] = kernel;
  };
  set(Operator::attention, run_attention);
  set(Operator::attention_backward, run_attention_backward);
  set(Operator::matmul, run_matmul);
  set(Operator::matmul_input_gradient, run_matmul_input_gradient);
  set(Operator::matmul_weight_gradient, run_matmul_weight_gradient);
  set(Operator::swiglu, run_swiglu);
  set(Operator::swiglu_backward, run_swiglu_backward);
  set(Operator::add, run_add);
  set(Operator::cast, run_cast);
  set(Operator::fill_zero, run_fill_zero);
  return table;
}

constexpr Table kTable = make_table();

}  // namespace

CudaKernel cuda_kernel(Operator op) {
  const CudaKernel kernel = kTable[static_cast<std::size_t>(op)];
  if (kernel == nullptr) throw std::logic_error("no CUDA kernel computes " + std::string(name(op)));
  return kernel;
}

}  // namespace foreshard::executor::cuda
