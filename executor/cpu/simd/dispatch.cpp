#include <atomic>
#include <vector>

#include "executor/cpu/simd/instruction_sets.hpp"
#include "executor/cpu/simd/table.hpp"

namespace foreshard::executor {
namespace {

const SimdKernels& kernels_for(InstructionSet set) {
  switch (set) {
#if defined(__x86_64__)
    case InstructionSet::amx: return amx_kernels();
    case InstructionSet::avx512_bf16: return avx512_bf16_kernels();
    case InstructionSet::avx512: return avx512_kernels();
    case InstructionSet::avx2: return avx2_kernels();
#endif
    default: return baseline_kernels();
  }
}

std::vector<const SimdKernels*> available() {
  std::vector<const SimdKernels*> found;
  for (const InstructionSet set : instruction_sets(this_processor())) {
    found.push_back(&kernels_for(set));
  }
  return found;
}

std::atomic<const SimdKernels*> chosen{nullptr};

}  // namespace

std::span<const SimdKernels* const> available_simd_kernels() {
  static const std::vector<const SimdKernels*> found = available();
  return found;
}

const SimdKernels& simd_kernels() {
  const SimdKernels* kernels = chosen.load(std::memory_order_relaxed);
  if (kernels != nullptr) return *kernels;
  static const SimdKernels& of_this_process = kernels_for(instruction_set());
  return of_this_process;
}

void use_simd_kernels(const SimdKernels& kernels) {
  chosen.store(&kernels, std::memory_order_relaxed);
}

}  // namespace foreshard::executor
