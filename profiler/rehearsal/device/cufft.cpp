// cuFFT: plans are numbers, of which only the stream is known; transforms are counted. How large a
// plan's work area is is not known without a GPU.
#include <mutex>
#include <unordered_map>

#include <cufft.h>
#include <cufftXt.h>

#include "profiler/rehearsal/device/kernels.hpp"
#include "profiler/rehearsal/device/notes.hpp"

using namespace foreshard::rehearsal;

namespace {

std::mutex mutex;
cufftHandle last_plan = 0;
auto& streams() {
  static auto& streams = *new std::unordered_map<cufftHandle, cudaStream_t>;
  return streams;
}

}  // namespace

cufftResult cufftCreate(cufftHandle* plan) {
  const std::lock_guard lock(mutex);
  *plan = ++last_plan;
  streams()[*plan] = nullptr;
  return CUFFT_SUCCESS;
}

cufftResult cufftDestroy(cufftHandle plan) {
  const std::lock_guard lock(mutex);
  return streams().erase(plan) == 1 ? CUFFT_SUCCESS : CUFFT_INVALID_PLAN;
}

cufftResult cufftSetStream(cufftHandle plan, cudaStream_t stream) {
  const std::lock_guard lock(mutex);
  const auto at = streams().find(plan);
  if (at == streams().end()) return CUFFT_INVALID_PLAN;
  at->second = stream;
  return CUFFT_SUCCESS;
}

cufftResult cufftXtMakePlanMany(cufftHandle, int, long long*, long long*, long long, long long,
                                cudaDataType, long long*, long long, long long, cudaDataType,
                                long long, std::size_t* work_bytes, cudaDataType) {
  note_unknown_workspace("cuFFT");
  *work_bytes = 0;
  return CUFFT_SUCCESS;
}

cufftResult cufftXtExec(cufftHandle plan, void*, void*, int) {
  const std::lock_guard lock(mutex);
  const auto at = streams().find(plan);
  if (at == streams().end()) return CUFFT_INVALID_PLAN;
  launch("cufftXtExec", {dim3(1), dim3(1), 0, at->second});
  return CUFFT_SUCCESS;
}
