// The kernels of the CPU under test: those of each instruction set that this processor has, and the inner
// loops with 16 lanes compiled without AVX-512, plain, with pairs of bf16 and with tiles in software,
// so that their logic is tested everywhere.
#include "executor/cpu/kernels.hpp"
#include "tests/executor/cpu/kernel_runner.hpp"
#include "tests/executor/cpu/kernels_in_use.hpp"

namespace foreshard::executor {

std::vector<Tensor> run(const Launch& launch, int threads) {
  std::vector<Tensor> writes = launch.writes;
  std::vector<std::span<const std::byte>> in;
  std::vector<std::span<std::byte>> out;
  for (const Tensor& t : launch.reads) in.emplace_back(t.bytes);
  for (Tensor& t : writes) out.emplace_back(t.bytes);
  WorkerPool workers(threads);
  cpu_kernels().run({{launch.key, in, out, launch.aux, &launch.unit, launch.scalars}, workers});
  return writes;
}

DeviceTraits tested_device() {
  return {};
}

std::vector<KernelVariant> kernel_variants() {
  const auto available = available_simd_kernels();
  std::vector<const SimdKernels*> all(available.begin(), available.end());
  all.push_back(&sixteen_lane_kernels());
  all.push_back(&sixteen_lane_pair_kernels());
  all.push_back(&software_tile_kernels());
  std::vector<KernelVariant> variants;
  for (const SimdKernels* kernels : all) {
    variants.push_back({std::string(kernels->name),
                        [kernels] { return std::make_shared<const KernelsInUse>(*kernels); }});
  }
  return variants;
}

}  // namespace foreshard::executor
