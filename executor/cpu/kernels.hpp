// Every compute operator of models/program/operators.hpp on the CPU, in fp32 and bf16.
//
// A kernel gets what its instruction declares and touches nothing else: operands in the order of
// models/program/operators.hpp, the slice or slot `aux`, the layout of the unit whose parameters it moves,
// and the run's scalars. Small tiles live on the threads' stacks (attention uses up to 0.5 MiB of it
// for heads of up to 256, up to 1 MiB for longer ones; products 0.25 MiB). The same operands give the
// same bits, whatever the number of threads.
//
// Speed comes from two places: simd/ holds the inner loops for each instruction set, chosen at run
// time, and matrix products pack what is not read in order: one operand into the workspace, rows of the
// other on the threads' stacks. Products accumulate in fp32; where the processor has no fast arithmetic
// for bf16, it is widened while packing, so that bf16 costs no more than fp32.
#pragma once

#include <array>
#include <cstddef>

#include "executor/device/kernel_launch.hpp"
#include "executor/device/worker_pool.hpp"
#include "models/program/operators.hpp"

namespace foreshard::executor {

struct KernelArguments : KernelLaunch {
  WorkerPool& workers;
};

using Kernel = void (*)(const KernelArguments&);

// Which kernel computes which operator.
class KernelTable {
 public:
  constexpr void set(Operator op, Kernel kernel) {
    kernels_[static_cast<std::size_t>(op)] = kernel;
  }
  // Throws std::logic_error for an operator that no kernel computes.
  Kernel operator[](Operator op) const;
  void run(const KernelArguments& arguments) const { (*this)[arguments.key.op](arguments); }

 private:
  std::array<Kernel, static_cast<std::size_t>(Operator::kCount)> kernels_{};
};

const KernelTable& cpu_kernels();

}  // namespace foreshard::executor
