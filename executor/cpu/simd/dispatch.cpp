#include <atomic>
#include <vector>

#include "executor/cpu/simd/instruction_sets.hpp"
#include "executor/cpu/simd/table.hpp"

namespace foreshard::executor {
namespace {

std::vector<const SimdKernels*> detect() {
  std::vector<const SimdKernels*> found;
#if defined(__x86_64__)
  __builtin_cpu_init();
  const bool has_avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  const bool has_avx512 = has_avx2 && __builtin_cpu_supports("avx512f") &&
                          __builtin_cpu_supports("avx512bw") &&
                          __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq");
  if (has_avx512 && __builtin_cpu_supports("avx512bf16")) {
    found.push_back(&avx512_bf16_kernels());
  }
  if (has_avx512) found.push_back(&avx512_kernels());
  if (has_avx2) found.push_back(&avx2_kernels());
#endif
  found.push_back(&baseline_kernels());
  return found;
}

std::atomic<const SimdKernels*> chosen{nullptr};

}  // namespace

std::span<const SimdKernels* const> available_simd_kernels() {
  static const std::vector<const SimdKernels*> found = detect();
  return found;
}

const SimdKernels& simd_kernels() {
  const SimdKernels* kernels = chosen.load(std::memory_order_relaxed);
  return kernels != nullptr ? *kernels : *available_simd_kernels().front();
}

void use_simd_kernels(const SimdKernels& kernels) {
  chosen.store(&kernels, std::memory_order_relaxed);
}

}  // namespace foreshard::executor
