// The host's CUPTI as the library that NVTX_INJECTION64_PATH names: ranges become markers, those that a thread
// pushes and pops and those that begin and end anywhere.
#include <atomic>
#include <vector>

#include <nvtx3/nvToolsExt.h>

#include "tests/cuda/cupti/markers.hpp"

namespace foreshard::host_cuda {
namespace {

nvtxRangeId_t start(const char* name) {
  static std::atomic<std::uint32_t> last{0};
  const std::uint32_t range = ++last;
  mark(range, CUPTI_ACTIVITY_FLAG_MARKER_START, name);
  return range;
}

void end(nvtxRangeId_t range) {
  mark(static_cast<std::uint32_t>(range), CUPTI_ACTIVITY_FLAG_MARKER_END, nullptr);
}

std::vector<std::uint32_t>& open_ranges() {
  thread_local std::vector<std::uint32_t> stack;
  return stack;
}

int push(const char* name) {
  open_ranges().push_back(static_cast<std::uint32_t>(start(name)));
  return 0;
}

int pop() {
  end(open_ranges().back());
  open_ranges().pop_back();
  return 0;
}

}  // namespace
}  // namespace foreshard::host_cuda

// NVTX's convention: 1 where all went well.
extern "C" int InitializeInjectionNvtx2(NvtxGetExportTableFunc_t get_table) {
  const auto* const callbacks =
      static_cast<const NvtxExportTableCallbacks*>(get_table(NVTX_ETID_CALLBACKS));
  NvtxFunctionTable table = nullptr;
  unsigned size = 0;
  if (callbacks == nullptr ||
      callbacks->GetModuleFunctionTable(NVTX_CB_MODULE_CORE, &table, &size) == 0) {
    return 0;
  }
  *table[NVTX_CBID_CORE_RangeStartA] =
      reinterpret_cast<NvtxFunctionPointer>(foreshard::host_cuda::start);
  *table[NVTX_CBID_CORE_RangeEnd] =
      reinterpret_cast<NvtxFunctionPointer>(foreshard::host_cuda::end);
  *table[NVTX_CBID_CORE_RangePushA] =
      reinterpret_cast<NvtxFunctionPointer>(foreshard::host_cuda::push);
  *table[NVTX_CBID_CORE_RangePop] =
      reinterpret_cast<NvtxFunctionPointer>(foreshard::host_cuda::pop);
  return 1;
}
