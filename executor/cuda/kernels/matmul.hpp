// Matrix products by cuBLASLt: which of its kernels computes a shape is asked once and remembered.
//
// Products accumulate in fp32, also where a kernel cuts a long sum into parts; those of fp32 round their operands
// to TF32 only where that is asked for. A kernel that needs more workspace than the operand has, which is the
// program's, is not chosen, so that what a product takes is known without a GPU. The same shape, types and
// alignment get the same kernel all run long, and its sums have a fixed order.
//
// The kernel is the first of cuBLASLt's list, or, where products are tuned, the quickest of the first few, which are
// timed when a shape comes up first: then it may be another one in the next run, and so may the last bits be.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include <cublasLt.h>

#include "executor/device/kernel_choices.hpp"
#include "executor/device/run_control.hpp"
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

// Where a product is computed.
struct ProductStream {
  cudaStream_t stream = nullptr;
  void* workspace = nullptr;
  std::size_t workspace_bytes = 0;
};

// Of one rank's host thread.
class MatrixProducts {
 public:
  // Of the current GPU. Throws std::runtime_error where cuBLAS cannot be used.
  MatrixProducts(RunControl& run, const KernelChoices& choices);
  ~MatrixProducts();
  MatrixProducts(const MatrixProducts&) = delete;
  MatrixProducts& operator=(const MatrixProducts&) = delete;

  void run(const MatrixProduct& product, const ProductStream& where);

 private:
  using Shape = std::array<std::int64_t, 8>;
  struct Plan;
  static Shape shape_of(const MatrixProduct& product, std::size_t workspace_bytes);
  Plan& plan_of(const MatrixProduct& product, const ProductStream& where);
  // The kernels that there are, the first ones first: as many as are to be timed, at least one.
  std::vector<cublasLtMatmulHeuristicResult_t> candidates(const MatrixProduct& product,
                                                          const Plan& plan,
                                                          std::size_t workspace_bytes);
  // false: not now, as the stream is being captured.
  bool tune(const MatrixProduct& product, Plan& plan,
            std::span<const cublasLtMatmulHeuristicResult_t> kernels, const Shape& shape,
            const ProductStream& where);
  cublasStatus_t issue(const MatrixProduct& product, const Plan& plan,
                       const cublasLtMatmulAlgo_t& algorithm, void* result,
                       const ProductStream& where);

  RunControl& run_;
  const KernelChoices choices_;
  cublasLtHandle_t handle_ = nullptr;
  std::map<Shape, Plan> plans_;
};

}  // namespace foreshard::executor::cuda
