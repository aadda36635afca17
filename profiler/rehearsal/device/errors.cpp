// Names and texts of the errors that the null device returns, as the runtime's and the driver's
// documentation has them.
#include <algorithm>
#include <iterator>

#include <cuda.h>
#include <cuda_runtime_api.h>

namespace {

struct Error {
  cudaError_t number;
  const char* name;
  const char* driver_name;
  const char* text;
};

constexpr Error kErrors[] = {
    {cudaSuccess, "cudaSuccess", "CUDA_SUCCESS", "no error"},
    {cudaErrorInvalidValue, "cudaErrorInvalidValue", "CUDA_ERROR_INVALID_VALUE",
     "invalid argument"},
    {cudaErrorMemoryAllocation, "cudaErrorMemoryAllocation", "CUDA_ERROR_OUT_OF_MEMORY",
     "out of memory"},
    {cudaErrorNoDevice, "cudaErrorNoDevice", "CUDA_ERROR_NO_DEVICE",
     "no CUDA-capable device is detected"},
    {cudaErrorInvalidDevice, "cudaErrorInvalidDevice", "CUDA_ERROR_INVALID_DEVICE",
     "invalid device ordinal"},
    {cudaErrorDeviceUninitialized, "cudaErrorDeviceUninitialized", "CUDA_ERROR_INVALID_CONTEXT",
     "invalid device context"},
    {cudaErrorInvalidResourceHandle, "cudaErrorInvalidResourceHandle", "CUDA_ERROR_INVALID_HANDLE",
     "invalid resource handle"},
    {cudaErrorIllegalState, "cudaErrorIllegalState", "CUDA_ERROR_ILLEGAL_STATE",
     "the operation cannot be performed in the present state"},
    {cudaErrorSymbolNotFound, "cudaErrorSymbolNotFound", "CUDA_ERROR_NOT_FOUND",
     "named symbol not found"},
    {cudaErrorNotReady, "cudaErrorNotReady", "CUDA_ERROR_NOT_READY", "device not ready"},
    {cudaErrorStreamCaptureUnsupported, "cudaErrorStreamCaptureUnsupported",
     "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED", "operation not permitted when stream is capturing"},
    {cudaErrorStreamCaptureMerge, "cudaErrorStreamCaptureMerge", "CUDA_ERROR_STREAM_CAPTURE_MERGE",
     "operation would result in a merge of separate capture sequences"},
    {cudaErrorStreamCaptureImplicit, "cudaErrorStreamCaptureImplicit",
     "CUDA_ERROR_STREAM_CAPTURE_IMPLICIT",
     "operation would make the legacy stream depend on a capturing blocking stream"},
    {cudaErrorCapturedEvent, "cudaErrorCapturedEvent", "CUDA_ERROR_CAPTURED_EVENT",
     "operation not permitted on an event last recorded in a capturing stream"},
};

const Error* find(int number) {
  const auto at =
      std::ranges::find_if(kErrors, [=](const Error& error) { return error.number == number; });
  return at == std::end(kErrors) ? nullptr : at;
}

}  // namespace

const char* cudaGetErrorName(cudaError_t error) {
  const Error* found = find(error);
  return found == nullptr ? "unrecognized error code" : found->name;
}

const char* cudaGetErrorString(cudaError_t error) {
  const Error* found = find(error);
  return found == nullptr ? "unrecognized error code" : found->text;
}

CUresult cuGetErrorName(CUresult error, const char** name) {
  const Error* found = find(error);
  *name = found == nullptr ? nullptr : found->driver_name;
  return found == nullptr ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

CUresult cuGetErrorString(CUresult error, const char** text) {
  const Error* found = find(error);
  *text = found == nullptr ? nullptr : found->text;
  return found == nullptr ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

// The driver's log stays empty, so that nobody is called.
CUresult cuLogsRegisterCallback(CUlogsCallback, void*, CUlogsCallbackHandle* handle) {
  if (handle != nullptr) *handle = nullptr;
  return CUDA_SUCCESS;
}
