// What a device says of itself: the attributes of runtime and driver, which have the same numbers,
// and the properties in the layouts of CUDA 12 and 13. What machine.hpp does not have is the same for all GPUs
// since compute capability 9.0 (the tables of compute capabilities in the CUDA C++ Programming
// Guide).
#include <cstdio>
#include <string>
#include <type_traits>
#include <unordered_map>

#include <cuda.h>
#include <cuda_runtime_api.h>

#include "profiler/rehearsal/device/devices.hpp"
#include "profiler/rehearsal/device/machine.hpp"
#include "profiler/rehearsal/device/refusal.hpp"

namespace foreshard::rehearsal {
namespace {

const std::unordered_map<int, int>& attributes() {
  static const auto& attributes = *new std::unordered_map<int, int>{
      {CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK, kThreadsPerBlock},
      {CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X, 1024},
      {CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y, 1024},
      {CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z, 64},
      {CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X, 2'147'483'647},
      {CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y, 65'535},
      {CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z, 65'535},
      {CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK, kSharedPerBlock},
      {CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, machine().shared_per_block},
      {CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR,
       machine().shared_per_multiprocessor},
      {CU_DEVICE_ATTRIBUTE_RESERVED_SHARED_MEMORY_PER_BLOCK, kReservedShared},
      {CU_DEVICE_ATTRIBUTE_TOTAL_CONSTANT_MEMORY, 65'536},
      {CU_DEVICE_ATTRIBUTE_WARP_SIZE, kWarp},
      {CU_DEVICE_ATTRIBUTE_MAX_PITCH, 2'147'483'647},
      {CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK, kRegisters},
      {CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR, kRegisters},
      {CU_DEVICE_ATTRIBUTE_CLOCK_RATE, machine().clock_khz},
      {CU_DEVICE_ATTRIBUTE_TEXTURE_ALIGNMENT, 512},
      {CU_DEVICE_ATTRIBUTE_TEXTURE_PITCH_ALIGNMENT, 32},
      {CU_DEVICE_ATTRIBUTE_GPU_OVERLAP, 1},
      {CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, machine().multiprocessors},
      {CU_DEVICE_ATTRIBUTE_KERNEL_EXEC_TIMEOUT, 0},
      {CU_DEVICE_ATTRIBUTE_INTEGRATED, 0},
      {CU_DEVICE_ATTRIBUTE_CAN_MAP_HOST_MEMORY, 1},
      {CU_DEVICE_ATTRIBUTE_COMPUTE_MODE, CU_COMPUTEMODE_DEFAULT},
      {CU_DEVICE_ATTRIBUTE_CONCURRENT_KERNELS, 1},
      {CU_DEVICE_ATTRIBUTE_ECC_ENABLED, 1},
      {CU_DEVICE_ATTRIBUTE_PCI_DOMAIN_ID, 0},
      {CU_DEVICE_ATTRIBUTE_PCI_DEVICE_ID, 0},
      {CU_DEVICE_ATTRIBUTE_TCC_DRIVER, 0},
      {CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE, machine().memory_clock_khz},
      {CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH, machine().bus_bits},
      {CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE, machine().l2_bytes},
      {CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR, machine().threads_per_multiprocessor},
      {CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR, machine().blocks_per_multiprocessor},
      {CU_DEVICE_ATTRIBUTE_ASYNC_ENGINE_COUNT, 3},
      {CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING, 1},
      {CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, machine().capability / 10},
      {CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, machine().capability % 10},
      {CU_DEVICE_ATTRIBUTE_STREAM_PRIORITIES_SUPPORTED, 1},
      {CU_DEVICE_ATTRIBUTE_MANAGED_MEMORY, 1},
      {CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS, 1},
      {CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS, 0},
      {CU_DEVICE_ATTRIBUTE_COMPUTE_PREEMPTION_SUPPORTED, 1},
      {CU_DEVICE_ATTRIBUTE_CAN_USE_HOST_POINTER_FOR_REGISTERED_MEM, 1},
      {CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH, 1},
      {CU_DEVICE_ATTRIBUTE_HOST_REGISTER_SUPPORTED, 1},
      {CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED, 1},
      {CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_WITH_CUDA_VMM_SUPPORTED, 0},
      {CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED, 0},
      {CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_FABRIC_SUPPORTED, 0},
      {CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED, 1},
      {CU_DEVICE_ATTRIBUTE_CLUSTER_LAUNCH, 1},
      {CU_DEVICE_ATTRIBUTE_MULTICAST_SUPPORTED, 0},
  };
  return attributes;
}

// CUDA 12's cudaDeviceProp, of which CUDA 13 has dropped some fields. Runs of fields that are zero
// have no names.
struct PropertiesOfCuda12 {
  char name[256];
  cudaUUID_t uuid;
  char luid[8];
  unsigned luidDeviceNodeMask;
  std::size_t totalGlobalMem, sharedMemPerBlock;
  int regsPerBlock, warpSize;
  std::size_t memPitch;
  int maxThreadsPerBlock, maxThreadsDim[3], maxGridSize[3], clockRate;
  std::size_t totalConstMem;
  int major, minor;
  std::size_t textureAlignment, texturePitchAlignment;
  int deviceOverlap, multiProcessorCount, kernelExecTimeoutEnabled, integrated, canMapHostMemory;
  int computeMode, textures_and_surfaces[40];
  std::size_t surfaceAlignment;
  int concurrentKernels, ECCEnabled, pciBusID, pciDeviceID, pciDomainID, tccDriver;
  int asyncEngineCount, unifiedAddressing, memoryClockRate, memoryBusWidth, l2CacheSize;
  int persistingL2CacheMaxSize, maxThreadsPerMultiProcessor, streamPrioritiesSupported;
  int caches_of_level_1[2];
  std::size_t sharedMemPerMultiprocessor;
  int regsPerMultiprocessor, managedMemory, boards_and_rates[4], pageableMemoryAccess;
  int concurrentManagedAccess, computePreemptionSupported, canUseHostPointerForRegisteredMem;
  int cooperativeLaunch, cooperativeMultiDeviceLaunch;
  std::size_t sharedMemPerBlockOptin;
  int page_tables[2], maxBlocksPerMultiProcessor, accessPolicyMaxWindowSize;
  std::size_t reservedSharedMemPerBlock;
  int hostRegisterSupported, arrays_and_semaphores[3], memoryPoolsSupported, transfers[6];
  int clusterLaunch, unifiedFunctionPointers, reserved[63];
};
static_assert(sizeof(PropertiesOfCuda12) == 1'032);

template <class Properties>
cudaError_t get_properties(Properties& p, int device) {
  if (!is_device(device)) return remembered(cudaErrorInvalidDevice);
  p = {};
  std::snprintf(p.name, sizeof p.name, "%s", machine().name.c_str());
  cuDeviceGetUuid(&p.uuid, device);
  p.totalGlobalMem = machine().memory_bytes;
  p.sharedMemPerBlock = kSharedPerBlock;
  p.sharedMemPerBlockOptin = static_cast<std::size_t>(machine().shared_per_block);
  p.sharedMemPerMultiprocessor = static_cast<std::size_t>(machine().shared_per_multiprocessor);
  p.reservedSharedMemPerBlock = kReservedShared;
  p.regsPerBlock = p.regsPerMultiprocessor = kRegisters;
  p.warpSize = kWarp;
  p.memPitch = 2'147'483'647;
  p.maxThreadsPerBlock = kThreadsPerBlock;
  p.maxThreadsDim[0] = p.maxThreadsDim[1] = 1024;
  p.maxThreadsDim[2] = 64;
  p.maxGridSize[0] = 2'147'483'647;
  p.maxGridSize[1] = p.maxGridSize[2] = 65'535;
  p.totalConstMem = 65'536;
  p.major = machine().capability / 10;
  p.minor = machine().capability % 10;
  p.textureAlignment = 512;
  p.texturePitchAlignment = 32;
  p.multiProcessorCount = machine().multiprocessors;
  p.maxThreadsPerMultiProcessor = machine().threads_per_multiprocessor;
  p.maxBlocksPerMultiProcessor = machine().blocks_per_multiprocessor;
  p.l2CacheSize = machine().l2_bytes;
  p.memoryBusWidth = machine().bus_bits;
  p.asyncEngineCount = 3;
  p.pciBusID = device + 1;
  p.canMapHostMemory = p.concurrentKernels = p.ECCEnabled = p.unifiedAddressing = 1;
  p.streamPrioritiesSupported = p.managedMemory = p.concurrentManagedAccess = 1;
  p.computePreemptionSupported = p.canUseHostPointerForRegisteredMem = p.cooperativeLaunch = 1;
  p.hostRegisterSupported = p.memoryPoolsSupported = p.clusterLaunch = 1;
  if constexpr (std::is_same_v<Properties, PropertiesOfCuda12>) {
    p.clockRate = machine().clock_khz;
    p.memoryClockRate = machine().memory_clock_khz;
    p.deviceOverlap = 1;
  }
  return cudaSuccess;
}

}  // namespace
}  // namespace foreshard::rehearsal

using namespace foreshard::rehearsal;

CUresult cuDeviceGetAttribute(int* value, CUdevice_attribute attribute, CUdevice device) {
  if (!is_device(device)) return CUDA_ERROR_INVALID_DEVICE;
  if (attribute == CU_DEVICE_ATTRIBUTE_PCI_BUS_ID) {
    *value = device + 1;
    return CUDA_SUCCESS;
  }
  const auto at = attributes().find(attribute);
  if (at == attributes().end())
    refuse("attribute " + std::to_string(attribute) + " of cuDeviceGetAttribute");
  *value = at->second;
  return CUDA_SUCCESS;
}

cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int device) {
  return remembered(static_cast<cudaError_t>(
      cuDeviceGetAttribute(value, static_cast<CUdevice_attribute>(attribute), device)));
}

cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int device) {
  return get_properties(*properties, device);
}

// By this name CUDA 12 asks.
extern "C" cudaError_t cudaGetDeviceProperties_v2(void* properties, int device) {
  return get_properties(*static_cast<PropertiesOfCuda12*>(properties), device);
}
