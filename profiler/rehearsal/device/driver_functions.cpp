#include "profiler/rehearsal/device/driver_functions.hpp"

#include <cstring>
#include <map>
#include <string>

#include <cuda.h>
#include <cuda_runtime_api.h>
#include <dlfcn.h>

#include "profiler/rehearsal/device/devices.hpp"
#include "profiler/rehearsal/device/refusal.hpp"

namespace foreshard::rehearsal {

void* find_driver_function(std::string_view name, int version) {
  static const auto& by_name = *[] {
    auto* functions = new std::multimap<std::string_view, const DriverFunction*>;
    for (const DriverFunction& function : driver_functions())
      functions->emplace(function.name, &function);
    return functions;
  }();
  const DriverFunction* newest = nullptr;
  const auto [begin, end] = by_name.equal_range(name);
  for (auto at = begin; at != end; ++at)
    if (at->second->since <= version && (newest == nullptr || at->second->since > newest->since))
      newest = at->second;
  return newest == nullptr ? nullptr : newest->address;
}

}  // namespace foreshard::rehearsal

using namespace foreshard::rehearsal;

// Tables of functions that no documentation describes: there are none. NVRTC, which compiles with and
// without a driver, then does without; what else asks for them, such as the real runtime, would not.
CUresult cuGetExportTable(const void** table, const CUuuid*) {
  Dl_info caller{};
  ::dladdr(__builtin_return_address(0), &caller);
  if (caller.dli_fname == nullptr || std::strstr(caller.dli_fname, "libnvrtc") == nullptr)
    refuse("cuGetExportTable");
  *table = nullptr;
  return CUDA_ERROR_NOT_FOUND;
}

CUresult cuGetProcAddress(const char* name, void** function, int version, cuuint64_t,
                          CUdriverProcAddressQueryResult* result) {
  *function = find_driver_function(name, version);
  if (result != nullptr)
    *result =
        *function == nullptr ? CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND : CU_GET_PROC_ADDRESS_SUCCESS;
  return *function == nullptr ? CUDA_ERROR_NOT_FOUND : CUDA_SUCCESS;
}

cudaError_t cudaGetDriverEntryPointByVersion(const char* name, void** function, unsigned version,
                                             unsigned long long,
                                             cudaDriverEntryPointQueryResult* result) {
  *function = find_driver_function(name, static_cast<int>(version));
  if (result != nullptr)
    *result =
        *function == nullptr ? cudaDriverEntryPointSymbolNotFound : cudaDriverEntryPointSuccess;
  return *function == nullptr && result == nullptr ? remembered(cudaErrorSymbolNotFound)
                                                   : cudaSuccess;
}

// What CUDA 12 calls, deprecated since.
extern "C" cudaError_t cudaGetDriverEntryPoint(const char* name, void** function,
                                               unsigned long long flags,
                                               cudaDriverEntryPointQueryResult* result) {
  int version = 0;
  cudaRuntimeGetVersion(&version);
  return cudaGetDriverEntryPointByVersion(name, function, static_cast<unsigned>(version), flags,
                                          result);
}
