// Ways to compute an operator, the quickest first. A launch is offered to one after the other; what all decline is
// computed by the plain kernel, which declines nothing.
#pragma once

#include <optional>
#include <string>

#include "executor/cuda/kernels/kernels.hpp"

namespace foreshard::executor::cuda {

class KernelBackend {
 public:
  virtual ~KernelBackend() = default;
  // Whether the launch is offered to it: what a program counts on where the backend is there.
  virtual bool computes(const CostKey& key) const = 0;
  // Issues the launch's work, or answers why not: then all that is written will be overwritten. The answer
  // depends on shapes, types and alignment alone, so that runs are alike.
  virtual std::optional<std::string> run(const CudaLaunch& launch) = 0;
};

}  // namespace foreshard::executor::cuda
