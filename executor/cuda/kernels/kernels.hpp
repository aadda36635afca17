// Every compute operator of models/program/operators.hpp on CUDA, in fp32 and bf16.
//
// As on the CPU (executor/cpu/kernels.hpp), a kernel gets what its instruction declares and touches
// nothing else, but for small spaces that streams have (StreamTools). The same operands give the
// same bits: no kernel adds with atomics, and every sum has an order that depends on sizes alone. So do
// cuBLASLt's; cuDNN's backward of attention adds up the gradients of queries with atomics, as in PyTorch,
// unless DeviceTraits ask for determinism.
//
// Sums are in fp32, where the CPU's are; those that the CPU makes in fp64 (losses, norms) are in
// fp64. Everything is written in plain CUDA C++ with static shared memory, so that tests can run
// the same text on the host (tests/cuda/emulation).
#pragma once

#include <memory>
#include <span>

#include <cuda_runtime_api.h>

#include "executor/device/kernel_launch.hpp"
#include "executor/device/optimizer_scalars.hpp"
#include "executor/device/run_control.hpp"
#include "models/program/operators.hpp"

namespace foreshard::executor::cuda {

class KernelBackend;
class MatrixProducts;

// What launches on one stream share.
struct StreamTools {
  // Room for the partial sums of a reduction, between two kernels of one launch.
  static constexpr std::size_t kPartials = 4096;

  cudaStream_t stream = nullptr;
  MatrixProducts* products = nullptr;
  std::span<const std::unique_ptr<KernelBackend>> backends;  // offered every launch in this order
  RunControl* run = nullptr;                                 // is told what they decline
  double* partials = nullptr;                                // kPartials of them, in device memory
  // The step's, in device memory: what changes from step to step is not a kernel's argument, so
  // that a graph of kernels can be launched again.
  OptimizerScalars* scalars = nullptr;
  int multiprocessors = 1;
};

struct CudaLaunch : KernelLaunch {
  const StreamTools& tools;
};

// Issues the launch's work: by the first backend that computes it, or by the plain kernel, with one warning
// of the run for each reason of a backend to decline. Throws std::logic_error where no kernel computes the
// operator.
void run_kernel(const CudaLaunch& launch);

// Sets the scalars of kernels that come later on the tools' stream.
void set_scalars(const StreamTools& tools, const KernelScalars& scalars);

// Kernels by theme; the table in kernels.cpp assigns them to operators.
void run_attention(const CudaLaunch& a);
void run_attention_backward(const CudaLaunch& a);
void run_embedding(const CudaLaunch& a);
void run_embedding_backward(const CudaLaunch& a);
void run_rms_norm(const CudaLaunch& a);
void run_rms_norm_backward(const CudaLaunch& a);
void run_matmul(const CudaLaunch& a);
void run_matmul_input_gradient(const CudaLaunch& a);
void run_matmul_weight_gradient(const CudaLaunch& a);
void run_bias_gradient(const CudaLaunch& a);
void run_rope(const CudaLaunch& a);
void run_rope_backward(const CudaLaunch& a);
void run_swiglu(const CudaLaunch& a);
void run_swiglu_backward(const CudaLaunch& a);
void run_add(const CudaLaunch& a);
void run_cross_entropy(const CudaLaunch& a);
void run_cross_entropy_backward(const CudaLaunch& a);
void run_cast(const CudaLaunch& a);
void run_fill_zero(const CudaLaunch& a);
void run_rope_table(const CudaLaunch& a);
void run_shard_cast(const CudaLaunch& a);
void run_all_gather_copy_in(const CudaLaunch& a);
void run_all_gather_copy_out(const CudaLaunch& a);
void run_copy_slice(const CudaLaunch& a);
void run_reduce_scatter_copy_in(const CudaLaunch& a);
void run_transpose(const CudaLaunch& a);
void run_gradient_norm(const CudaLaunch& a);
void run_clip_coefficient(const CudaLaunch& a);
void run_adamw(const CudaLaunch& a);
void run_sgd(const CudaLaunch& a);

}  // namespace foreshard::executor::cuda
