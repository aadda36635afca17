// The kernels of the CPU under test: those of each instruction set that this processor has, and the
// inner loops with 16 lanes compiled without AVX-512, plain, with pairs of bf16 and with tiles in
// software, so that their logic is tested everywhere.
#include "tests/executor/cpu/kernels_in_use.hpp"
#include "tests/executor/cpu/run_on_cpu.hpp"

namespace foreshard::executor {

std::vector<Tensor> run(const Launch& launch, int threads) {
  return run_on_cpu(launch, threads);
}

DeviceTraits tested_device() {
  return {};
}

bool products_may_round_before_bias() {
  return false;
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
