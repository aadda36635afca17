// cuDNN: handles, and graphs of operations by the backend API: any graph is supported by one engine.
#include <algorithm>
#include <iterator>
#include <memory>
#include <string>

#include <cudnn.h>

#include "profiler/rehearsal/device/counts.hpp"
#include "profiler/rehearsal/device/cudnn_descriptor.hpp"
#include "profiler/rehearsal/device/cudnn_handle.hpp"
#include "profiler/rehearsal/device/cupti_records.hpp"
#include "profiler/rehearsal/device/durations.hpp"
#include "profiler/rehearsal/device/kernels.hpp"
#include "profiler/rehearsal/device/log.hpp"
#include "profiler/rehearsal/device/real_libraries.hpp"
#include "profiler/rehearsal/device/refusal.hpp"
#include "profiler/rehearsal/device/streams.hpp"

namespace foreshard::rehearsal {

cudnnStatus_t execute(cudnnHandle_t handle, const char* what, std::int64_t workspace_bytes) {
  launched_by_library("cudnn");
  const CallId call = record_kernel("cudnn", {dim3(1), dim3(1), 0, handle->stream});
  log_line(call, "CUDNN %p %s", static_cast<void*>(handle->stream), what);
  count_cudnn(handle->stream, workspace_bytes);
  work(handle->stream, durations::kKernel);
  return CUDNN_STATUS_SUCCESS;
}

}  // namespace foreshard::rehearsal

using namespace foreshard::rehearsal;

namespace {

// A handle is the address of a pointer to the descriptor, which others may keep.
std::shared_ptr<Descriptor>& of(cudnnBackendDescriptor_t descriptor) {
  return *static_cast<std::shared_ptr<Descriptor>*>(descriptor);
}

// One descriptor, which the caller has made.
constexpr bool is_one_descriptor(cudnnBackendAttributeName_t name) {
  return name == CUDNN_ATTR_ENGINEHEUR_RESULTS || name == CUDNN_ATTR_ENGINECFG_ENGINE;
}

constexpr bool is_workspace(cudnnBackendAttributeName_t name) {
  return name == CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE ||
         name == CUDNN_ATTR_ENGINECFG_WORKSPACE_SIZE;
}

constexpr bool is_one_zero(cudnnBackendAttributeName_t name) {
  return name == CUDNN_ATTR_ENGINECFG_SHARED_MEMORY_USED || name == CUDNN_ATTR_ENGINE_GLOBAL_INDEX;
}

// Notes and knobs of an engine: none.
constexpr bool is_empty(cudnnBackendAttributeName_t name) {
  return name == CUDNN_ATTR_ENGINE_NUMERICAL_NOTE || name == CUDNN_ATTR_ENGINE_BEHAVIOR_NOTE ||
         name == CUDNN_ATTR_ENGINE_KNOB_INFO || name == CUDNN_ATTR_ENGINECFG_KNOB_CHOICES;
}

}  // namespace

std::size_t cudnnGetVersion() {
  return static_cast<std::size_t>(cudnn_version());
}

std::size_t cudnnGetCudartVersion() {
  return static_cast<std::size_t>(cuda_version());
}

cudnnStatus_t cudnnGetProperty(libraryPropertyType property, int* value) {
  const int version = cudnn_version();  // 91'203: 9.12.3
  *value = property == MAJOR_VERSION   ? version / 10'000
           : property == MINOR_VERSION ? version / 100 % 100
                                       : version % 100;
  return CUDNN_STATUS_SUCCESS;
}

const char* cudnnGetErrorString(cudnnStatus_t status) {
  return status == CUDNN_STATUS_SUCCESS ? "CUDNN_STATUS_SUCCESS" : "CUDNN_STATUS_BAD_PARAM";
}

void cudnnGetLastErrorString(char* message, std::size_t bytes) {
  if (bytes > 0) *message = '\0';
}

cudnnStatus_t cudnnCreate(cudnnHandle_t* handle) {
  *handle = new cudnnContext;
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnDestroy(cudnnHandle_t handle) {
  delete handle;
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnSetStream(cudnnHandle_t handle, cudaStream_t stream) {
  handle->stream = stream;
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnGetStream(cudnnHandle_t handle, cudaStream_t* stream) {
  *stream = handle->stream;
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnBackendCreateDescriptor(cudnnBackendDescriptorType_t type,
                                           cudnnBackendDescriptor_t* descriptor) {
  *descriptor = new std::shared_ptr<Descriptor>(new Descriptor{type, {}, {}});
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnBackendDestroyDescriptor(cudnnBackendDescriptor_t descriptor) {
  delete &of(descriptor);
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnBackendSetAttribute(cudnnBackendDescriptor_t descriptor,
                                       cudnnBackendAttributeName_t name,
                                       cudnnBackendAttributeType_t type, std::int64_t count,
                                       const void* values) {
  if (type == CUDNN_TYPE_BACKEND_DESCRIPTOR) {
    const auto* const handles = static_cast<const cudnnBackendDescriptor_t*>(values);
    auto& parts = of(descriptor)->parts[name];
    parts.clear();
    std::transform(handles, handles + count, std::back_inserter(parts), of);
  } else if (name == CUDNN_ATTR_TENSOR_DIMENSIONS) {
    const auto* const numbers = static_cast<const std::int64_t*>(values);
    of(descriptor)->dimensions.assign(numbers, numbers + count);
  }
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnBackendFinalize(cudnnBackendDescriptor_t) {
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnBackendGetAttribute(cudnnBackendDescriptor_t const descriptor,
                                       cudnnBackendAttributeName_t name,
                                       cudnnBackendAttributeType_t type, std::int64_t wanted,
                                       std::int64_t* count, void* values) {
  const bool is_number = is_workspace(name) || is_one_zero(name);
  if (!is_one_descriptor(name) && !is_number && !is_empty(name))
    refuse("attribute " + std::to_string(name) + " of cudnnBackendGetAttribute");
  if (count != nullptr) *count = is_empty(name) ? 0 : 1;
  if (values == nullptr || wanted == 0 || is_empty(name)) return CUDNN_STATUS_SUCCESS;
  if (is_one_descriptor(name)) {  // which leads to the same graph
    of(*static_cast<cudnnBackendDescriptor_t*>(values))->parts = of(descriptor)->parts;
    return CUDNN_STATUS_SUCCESS;
  }
  const std::int64_t number = is_workspace(name) ? workspace_bytes(*of(descriptor)) : 0;
  if (type == CUDNN_TYPE_INT64)
    *static_cast<std::int64_t*>(values) = number;
  else if (type == CUDNN_TYPE_INT32)
    *static_cast<std::int32_t*>(values) = static_cast<std::int32_t>(number);
  else
    refuse("a type of cudnnBackendGetAttribute");
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnBackendExecute(cudnnHandle_t handle, cudnnBackendDescriptor_t plan,
                                  cudnnBackendDescriptor_t) {
  return execute(handle, "graph", workspace_bytes(*of(plan)));
}
