// Every compute operator of models/program/operators.hpp on the CPU, in fp32 and bf16.
//
// A kernel gets what its instruction declares and touches nothing else: operands in the order of
// models/program/operators.hpp, the slice or slot `aux`, the layout of the unit whose parameters it moves,
// and the run's scalars. Small tiles live on the threads' stacks (attention uses up to 0.5 MiB of it
// for heads of up to 256, up to 1 MiB for longer ones). The same operands give the same bits,
// whatever the number of threads.
//
// Speed comes from two places: simd/ holds the inner loops for each instruction set, chosen at run
// time, and matrix products pack their operands into the workspace in the order in which they are
// read. Products accumulate in fp32; where the processor has no fast arithmetic for bf16, it is widened
// while packing, so that bf16 costs no more than fp32.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "executor/cpu/worker_pool.hpp"
#include "models/llama/llama_config.hpp"
#include "models/program/operators.hpp"
#include "models/program/step_program.hpp"

namespace foreshard::executor {

// What kernels need to know of the model, the optimizer and the step, beyond sizes.
struct KernelScalars {
  double rms_norm_eps = 1e-6;
  double rope_theta = 10000;
  RopeScaling rope_scaling{};
  double lr = 0;  // of this step
  double beta1 = 0.9, beta2 = 0.999, eps = 1e-8;
  double weight_decay = 0;
  double clip_grad_norm = 0;  // 0: gradients are not clipped
  std::int64_t optimizer_step = 1;
};

struct KernelArguments {
  const CostKey& key;
  std::span<const std::span<const std::byte>> reads;
  std::span<const std::span<std::byte>> writes;
  std::int32_t aux = 0;
  const UnitLayout* unit = nullptr;  // for operators that move a unit's parameters
  const KernelScalars& scalars;
  WorkerPool& workers;
};

// Throws std::logic_error for an operator that no kernel computes.
void run_kernel(const KernelArguments& arguments);

}  // namespace foreshard::executor
