// Streams and events by the driver, which are the runtime's.
#include <cuda.h>
#include <cuda_runtime_api.h>

#include "profiler/rehearsal/device/devices.hpp"
#include "profiler/rehearsal/device/streams.hpp"

using namespace foreshard::rehearsal;

CUresult cuStreamCreate(CUstream* stream, unsigned flags) {
  return as_driver(create_stream(stream, flags, kLeastPriority));
}

CUresult cuStreamCreateWithPriority(CUstream* stream, unsigned flags, int priority) {
  return as_driver(create_stream(stream, flags, priority));
}

CUresult cuStreamDestroy(CUstream stream) {
  return as_driver(destroy_stream(stream));
}

CUresult cuStreamGetPriority(CUstream stream, int* priority) {
  return as_driver(cudaStreamGetPriority(stream, priority));
}

CUresult cuStreamGetFlags(CUstream stream, unsigned* flags) {
  return as_driver(cudaStreamGetFlags(stream, flags));
}

CUresult cuStreamGetCtx(CUstream stream, CUcontext* context) {
  return cuDevicePrimaryCtxRetain(context, stream_device(stream));
}

CUresult cuStreamIsCapturing(CUstream stream, CUstreamCaptureStatus* status) {
  *status = captured_graph(stream) == nullptr ? CU_STREAM_CAPTURE_STATUS_NONE
                                              : CU_STREAM_CAPTURE_STATUS_ACTIVE;
  return CUDA_SUCCESS;
}

CUresult cuStreamQuery(CUstream stream) {
  return as_driver(cudaStreamQuery(stream));
}

CUresult cuStreamSynchronize(CUstream stream) {
  return as_driver(synchronize_stream(stream));
}

CUresult cuStreamWaitEvent(CUstream stream, CUevent event, unsigned) {
  return as_driver(wait_for_event(stream, event));
}

CUresult cuLaunchHostFunc(CUstream stream, CUhostFn function, void* data) {
  return as_driver(call_on_host(stream, [=] { function(data); }));
}

CUresult cuEventCreate(CUevent* event, unsigned flags) {
  return as_driver(create_event(event, flags));
}

CUresult cuEventDestroy(CUevent event) {
  return as_driver(destroy_event(event));
}

CUresult cuEventRecord(CUevent event, CUstream stream) {
  return as_driver(record_event(event, stream));
}

CUresult cuEventRecordWithFlags(CUevent event, CUstream stream, unsigned) {
  return as_driver(record_event(event, stream));
}

CUresult cuEventQuery(CUevent event) {
  return as_driver(query_event(event));
}

CUresult cuEventSynchronize(CUevent event) {
  return as_driver(synchronize_event(event));
}

CUresult cuEventElapsedTime(float* milliseconds, CUevent from, CUevent to) {
  return as_driver(elapsed_time(milliseconds, from, to));
}
