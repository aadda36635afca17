#include "profiler/rehearsal/device/devices.hpp"

#include <array>
#include <atomic>
#include <cstdio>
#include <cstring>

#include <cuda_runtime_api.h>

#include "profiler/rehearsal/device/machine.hpp"
#include "profiler/rehearsal/device/real_libraries.hpp"
#include "profiler/rehearsal/device/streams.hpp"

namespace foreshard::rehearsal {
namespace {

constexpr int kMostDevices = 64;
std::array<std::atomic<bool>, kMostDevices> contexts;
thread_local int current = 0;
thread_local cudaError_t last_error = cudaSuccess;

// A context is known by the address of its device's flag.
CUcontext context_of(int device) {
  return reinterpret_cast<CUcontext>(&contexts[static_cast<std::size_t>(device)]);
}

int device_of(CUcontext context) {
  return static_cast<int>(reinterpret_cast<std::atomic<bool>*>(context) - contexts.data());
}

}  // namespace

int current_device() {
  return current;
}

bool is_device(int device) {
  return device >= 0 && device < machine().devices && device < kMostDevices;
}

cudaError_t use_device(int device) {
  if (!is_device(device)) return cudaErrorInvalidDevice;
  current = device;
  contexts[static_cast<std::size_t>(device)] = true;
  return cudaSuccess;
}

bool has_context(int device) {
  return is_device(device) && contexts[static_cast<std::size_t>(device)];
}

cudaError_t remembered(cudaError_t error) {
  if (error != cudaSuccess) last_error = error;
  return error;
}

}  // namespace foreshard::rehearsal

using namespace foreshard::rehearsal;

cudaError_t cudaGetDeviceCount(int* count) {
  *count = machine().devices;
  return *count > 0 ? cudaSuccess : remembered(cudaErrorNoDevice);
}

cudaError_t cudaGetDevice(int* device) {
  *device = current_device();
  return cudaSuccess;
}

cudaError_t cudaSetDevice(int device) {
  return remembered(use_device(device));
}

cudaError_t cudaGetLastError() {
  const cudaError_t error = last_error;
  last_error = cudaSuccess;
  return error;
}

cudaError_t cudaPeekAtLastError() {
  return last_error;
}

cudaError_t cudaDriverGetVersion(int* version) {
  *version = cuda_version();
  return cudaSuccess;
}

cudaError_t cudaRuntimeGetVersion(int* version) {
  *version = cuda_version();
  return cudaSuccess;
}

cudaError_t cudaDeviceGetStreamPriorityRange(int* least, int* greatest) {
  if (least != nullptr) *least = kLeastPriority;
  if (greatest != nullptr) *greatest = kGreatestPriority;
  return cudaSuccess;
}

cudaError_t cudaDeviceCanAccessPeer(int* can, int device, int peer) {
  if (!is_device(device) || !is_device(peer)) return remembered(cudaErrorInvalidDevice);
  *can = device != peer;
  return cudaSuccess;
}

cudaError_t cudaDeviceGetPCIBusId(char* text, int length, int device) {
  if (!is_device(device)) return remembered(cudaErrorInvalidDevice);
  std::snprintf(text, static_cast<std::size_t>(length), "0000:%02X:00.0",
                static_cast<unsigned>(device + 1));
  return cudaSuccess;
}

cudaError_t cudaDeviceSynchronize() {
  return remembered(synchronize_device());
}

CUresult cuDriverGetVersion(int* version) {
  return as_driver(cudaDriverGetVersion(version));
}

CUresult cuDeviceGetCount(int* count) {
  *count = machine().devices;
  return CUDA_SUCCESS;
}

CUresult cuDeviceGet(CUdevice* device, int ordinal) {
  *device = ordinal;
  return is_device(ordinal) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE;
}

CUresult cuDeviceGetName(char* name, int length, CUdevice device) {
  if (!is_device(device)) return CUDA_ERROR_INVALID_DEVICE;
  std::snprintf(name, static_cast<std::size_t>(length), "%s", machine().name.c_str());
  return CUDA_SUCCESS;
}

CUresult cuDeviceTotalMem(std::size_t* bytes, CUdevice) {
  *bytes = machine().memory_bytes;
  return CUDA_SUCCESS;
}

// No real GPU's: seven zeros and the device's number.
CUresult cuDeviceGetUuid(CUuuid* uuid, CUdevice device) {
  std::memset(uuid, 0, sizeof *uuid);
  uuid->bytes[sizeof uuid->bytes - 1] = static_cast<char>(device + 1);
  return CUDA_SUCCESS;
}

CUresult cuDeviceGetPCIBusId(char* text, int length, CUdevice device) {
  return as_driver(cudaDeviceGetPCIBusId(text, length, device));
}

CUresult cuDeviceCanAccessPeer(int* can, CUdevice device, CUdevice peer) {
  return as_driver(cudaDeviceCanAccessPeer(can, device, peer));
}

CUresult cuDevicePrimaryCtxRetain(CUcontext* context, CUdevice device) {
  if (!is_device(device)) return CUDA_ERROR_INVALID_DEVICE;
  contexts[static_cast<std::size_t>(device)] = true;
  *context = context_of(device);
  return CUDA_SUCCESS;
}

CUresult cuDevicePrimaryCtxGetState(CUdevice device, unsigned* flags, int* is_active) {
  if (!is_device(device)) return CUDA_ERROR_INVALID_DEVICE;
  *flags = 0;
  *is_active = has_context(device);
  return CUDA_SUCCESS;
}

CUresult cuCtxGetCurrent(CUcontext* context) {
  *context = has_context(current) ? context_of(current) : nullptr;
  return CUDA_SUCCESS;
}

CUresult cuCtxSetCurrent(CUcontext context) {
  return context == nullptr ? CUDA_SUCCESS : as_driver(use_device(device_of(context)));
}

CUresult cuCtxGetDevice(CUdevice* device) {
  *device = current;
  return has_context(current) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_CONTEXT;
}

CUresult cuCtxGetStreamPriorityRange(int* least, int* greatest) {
  return as_driver(cudaDeviceGetStreamPriorityRange(least, greatest));
}

CUresult cuCtxSynchronize() {
  return as_driver(synchronize_device());
}
