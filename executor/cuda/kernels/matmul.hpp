// Matrix products by cuBLASLt: which of its kernels computes a shape is asked once and remembered.
//
// Products accumulate in fp32; those of fp32 round their operands to TF32 only where that is asked
// for. A kernel that needs more workspace than the operand has, which is the program's, is not
// chosen, so that what a product takes is known without a GPU. The same shape, types and alignment
// get the same kernel all run long, and its sums have a fixed order.
#pragma once

#include <array>
#include <cstdint>
#include <map>

#include <cublasLt.h>

#include "executor/device/matmul_precision.hpp"
#include "models/base/dtype.hpp"

namespace foreshard::executor::cuda {

// c = op(a) op(b) (+ c) (+ bias), as cuBLAS counts: all matrices by columns, c of m rows and n columns.
struct MatrixProduct {
  DType type = DType::bf16;
  std::int64_t m = 0, n = 0, k = 0;
  bool transposes_a = false, transposes_b = false, accumulates = false;
  const void* a = nullptr;
  const void* b = nullptr;
  const void* bias = nullptr;  // of m elements; nullptr: none
  void* c = nullptr;
};

// Of one rank's host thread.
class MatrixProducts {
 public:
  // Of the current GPU. Throws std::runtime_error where cuBLAS cannot be used.
  explicit MatrixProducts(MatmulPrecision precision);
  ~MatrixProducts();
  MatrixProducts(const MatrixProducts&) = delete;
  MatrixProducts& operator=(const MatrixProducts&) = delete;

  void run(const MatrixProduct& product, void* workspace, std::size_t workspace_bytes,
           cudaStream_t stream);

 private:
  using Shape = std::array<std::int64_t, 9>;
  struct Plan;
  const Plan& plan_of(const MatrixProduct& product, std::size_t workspace_bytes);

  const MatmulPrecision precision_;
  cublasLtHandle_t handle_ = nullptr;
  std::map<Shape, Plan> plans_;
};

}  // namespace foreshard::executor::cuda
