#include "traces/meaning/device_calls.hpp"

#include <algorithm>
#include <array>

namespace foreshard::traces {
namespace {

// Besides those with "Synchronize" in their names.
constexpr std::array<std::string_view, 21> kBlocking{
    "cudaMemcpy",           "cudaMemcpy2D",      "cudaMemcpy3D",        "cudaMemcpyToSymbol",
    "cudaMemcpyFromSymbol", "cuMemcpyDtoH",      "cuMemcpyDtoH_v2",     "cuMemcpyHtoD",
    "cuMemcpyHtoD_v2",      "hipMemcpy",         "hipMemcpyWithStream", "hipMemcpy2D",
    "hipMemcpy3D",          "hipMemcpyToSymbol", "hipMemcpyFromSymbol", "hipMemcpyDtoH",
    "hipMemcpyHtoD",        "urQueueFinish",     "urEventWait",         "piQueueFinish",
    "piEventsWait"};

// CUDA's calls with a default stream for each thread, or the one of all, have names of their own.
std::string_view without_stream_variant(std::string_view call) {
  for (const std::string_view variant : {"_ptsz", "_ptds"}) {
    if (call.ends_with(variant)) call.remove_suffix(variant.size());
  }
  return call;
}

}  // namespace

bool is_blocking_call(std::string_view call) {
  return call.find("Synchronize") != std::string_view::npos ||
         std::ranges::find(kBlocking, without_stream_variant(call)) != kBlocking.end();
}

bool launches_kernel(std::string_view call) {
  return (call.starts_with("cu") || call.starts_with("hip")) &&
         call.find("Launch") != std::string_view::npos &&
         call.find("Kernel") != std::string_view::npos;
}

}  // namespace foreshard::traces
