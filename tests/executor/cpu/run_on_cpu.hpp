// A launch on the CPU's kernels, with the inner loops that are in use.
#pragma once

#include "executor/cpu/kernels.hpp"
#include "tests/executor/cpu/kernel_runner.hpp"

namespace foreshard::executor {

inline std::vector<Tensor> run_on_cpu(const Launch& launch, int threads = 1) {
  std::vector<Tensor> writes = launch.writes;
  std::vector<std::span<const std::byte>> in;
  std::vector<std::span<std::byte>> out;
  for (const Tensor& t : launch.reads) in.emplace_back(t.bytes);
  for (Tensor& t : writes) out.emplace_back(t.bytes);
  WorkerPool workers(threads);
  cpu_kernels().run({{launch.key, in, out, launch.aux, &launch.unit, launch.scalars}, workers});
  return writes;
}

}  // namespace foreshard::executor
