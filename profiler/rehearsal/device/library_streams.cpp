// The streams of cuSOLVER's and cuSPARSE's handles.
#include <cusolverDn.h>
#include <cusparse.h>

#include "profiler/rehearsal/device/library_handle.hpp"

using namespace foreshard::rehearsal;

cusolverStatus_t cusolverDnSetStream(cusolverDnHandle_t handle, cudaStream_t stream) {
  known(handle)->stream = stream;
  return CUSOLVER_STATUS_SUCCESS;
}

cusolverStatus_t cusolverDnGetStream(cusolverDnHandle_t handle, cudaStream_t* stream) {
  *stream = known(handle)->stream;
  return CUSOLVER_STATUS_SUCCESS;
}

cusparseStatus_t cusparseSetStream(cusparseHandle_t handle, cudaStream_t stream) {
  known(handle)->stream = stream;
  return CUSPARSE_STATUS_SUCCESS;
}

cusparseStatus_t cusparseGetStream(cusparseHandle_t handle, cudaStream_t* stream) {
  *stream = known(handle)->stream;
  return CUSPARSE_STATUS_SUCCESS;
}

// No call here fails.
const char* cusparseGetErrorString(cusparseStatus_t) {
  return "success";
}
