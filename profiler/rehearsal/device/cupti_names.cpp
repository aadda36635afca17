// CUPTI's names of the calls that activity records are made of (cupti.cpp).
#include <algorithm>
#include <iterator>

#include <cupti.h>

namespace {

struct Call {
  CUpti_CallbackId id;
  const char* name;
};

constexpr Call kCalls[] = {
    {CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernel_v7000, "cudaLaunchKernel_v7000"},
    {CUPTI_RUNTIME_TRACE_CBID_cudaMemcpyAsync_v3020, "cudaMemcpyAsync_v3020"},
    {CUPTI_RUNTIME_TRACE_CBID_cudaMemsetAsync_v3020, "cudaMemsetAsync_v3020"},
};

}  // namespace

CUptiResult cuptiGetCallbackName(CUpti_CallbackDomain domain, std::uint32_t id, const char** name) {
  const auto* const call =
      std::ranges::find_if(kCalls, [=](const Call& known) { return known.id == id; });
  if (domain != CUPTI_CB_DOMAIN_RUNTIME_API || call == std::end(kCalls))
    return CUPTI_ERROR_INVALID_PARAMETER;
  *name = call->name;
  return CUPTI_SUCCESS;
}
