// Streams, events and graphs by the runtime (streams.hpp).
#include <cstdint>
#include <memory>

#include <cuda_runtime_api.h>

#include "profiler/rehearsal/device/devices.hpp"
#include "profiler/rehearsal/device/graphs.hpp"
#include "profiler/rehearsal/device/streams.hpp"

using namespace foreshard::rehearsal;

cudaError_t cudaStreamCreate(cudaStream_t* stream) {
  return remembered(create_stream(stream, cudaStreamDefault, kLeastPriority));
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned flags) {
  return remembered(create_stream(stream, flags, kLeastPriority));
}

cudaError_t cudaStreamCreateWithPriority(cudaStream_t* stream, unsigned flags, int priority) {
  return remembered(create_stream(stream, flags, priority));
}

cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  return remembered(destroy_stream(stream));
}

cudaError_t cudaStreamGetPriority(cudaStream_t stream, int* priority) {
  *priority = stream_priority(stream);
  return is_stream(stream) ? cudaSuccess : remembered(cudaErrorInvalidResourceHandle);
}

cudaError_t cudaStreamGetFlags(cudaStream_t stream, unsigned* flags) {
  *flags = stream_flags(stream);
  return is_stream(stream) ? cudaSuccess : remembered(cudaErrorInvalidResourceHandle);
}

cudaError_t cudaStreamGetDevice(cudaStream_t stream, int* device) {
  *device = stream_device(stream);
  return is_stream(stream) ? cudaSuccess : remembered(cudaErrorInvalidResourceHandle);
}

cudaError_t cudaStreamQuery(cudaStream_t stream) {
  return remembered(query_stream(stream));
}

cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
  return remembered(synchronize_stream(stream));
}

cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned) {
  return remembered(wait_for_event(stream, event));
}

cudaError_t cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t function, void* data) {
  return remembered(call_on_host(stream, [=] { function(data); }));
}

cudaError_t cudaStreamAddCallback(cudaStream_t stream, cudaStreamCallback_t callback, void* data,
                                  unsigned) {
  return remembered(call_on_host(stream, [=] { callback(stream, cudaSuccess, data); }));
}

cudaError_t cudaEventCreate(cudaEvent_t* event) {
  return remembered(create_event(event, cudaEventDefault));
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned flags) {
  return remembered(create_event(event, flags));
}

cudaError_t cudaEventDestroy(cudaEvent_t event) {
  return remembered(destroy_event(event));
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  return remembered(record_event(event, stream));
}

cudaError_t cudaEventRecordWithFlags(cudaEvent_t event, cudaStream_t stream, unsigned) {
  return remembered(record_event(event, stream));
}

cudaError_t cudaEventQuery(cudaEvent_t event) {
  return remembered(query_event(event));
}

cudaError_t cudaEventSynchronize(cudaEvent_t event) {
  return remembered(synchronize_event(event));
}

cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t from, cudaEvent_t to) {
  return remembered(elapsed_time(milliseconds, from, to));
}

// Which calls a capture forbids other threads: none is unsafe here.
cudaError_t cudaThreadExchangeStreamCaptureMode(cudaStreamCaptureMode* mode) {
  static thread_local cudaStreamCaptureMode current = cudaStreamCaptureModeGlobal;
  std::swap(current, *mode);
  return cudaSuccess;
}

cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode) {
  return remembered(begin_capture(stream));
}

cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t* graph) {
  std::shared_ptr<Graph> captured;
  const cudaError_t error = end_capture(stream, captured);
  *graph = error == cudaSuccess ? as_handle<cudaGraph_t>(std::move(captured)) : nullptr;
  return remembered(error);
}

cudaError_t cudaStreamIsCapturing(cudaStream_t stream, cudaStreamCaptureStatus* status) {
  *status = captured_graph(stream) == nullptr ? cudaStreamCaptureStatusNone
                                              : cudaStreamCaptureStatusActive;
  return cudaSuccess;
}

// By this name CUDA 13 asks. The graph under capture has no handle and no nodes here: who asks for them is not answered.
cudaError_t cudaStreamGetCaptureInfo(cudaStream_t stream, cudaStreamCaptureStatus* status,
                                     unsigned long long* id, cudaGraph_t* graph,
                                     const cudaGraphNode_t** dependencies,
                                     const cudaGraphEdgeData** edges,
                                     std::size_t* dependency_count) {
  const auto captured = captured_graph(stream);
  *status = captured == nullptr ? cudaStreamCaptureStatusNone : cudaStreamCaptureStatusActive;
  if (captured == nullptr) return cudaSuccess;
  if (graph != nullptr || dependencies != nullptr || edges != nullptr ||
      dependency_count != nullptr)
    refuse_nodes();
  if (id != nullptr) *id = captured->id;
  return cudaSuccess;
}

// By these names CUDA 12 asks.
extern "C" {

cudaError_t cudaStreamGetCaptureInfo_v3(cudaStream_t stream, cudaStreamCaptureStatus* status,
                                        unsigned long long* id, cudaGraph_t* graph,
                                        const cudaGraphNode_t** dependencies,
                                        const cudaGraphEdgeData** edges,
                                        std::size_t* dependency_count) {
  return cudaStreamGetCaptureInfo(stream, status, id, graph, dependencies, edges, dependency_count);
}

cudaError_t cudaStreamGetCaptureInfo_v2(cudaStream_t stream, cudaStreamCaptureStatus* status,
                                        unsigned long long* id, cudaGraph_t* graph,
                                        const cudaGraphNode_t** dependencies,
                                        std::size_t* dependency_count) {
  return cudaStreamGetCaptureInfo(stream, status, id, graph, dependencies, nullptr,
                                  dependency_count);
}

}  // extern "C"
