// Kernels of modules and libraries that programs load into the driver, such as Triton's: a module
// is nothing, a function its name. Every name that is asked for is taken to be in the module.
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>

#include <cuda.h>

#include "profiler/rehearsal/device/kernels.hpp"
#include "profiler/rehearsal/device/machine.hpp"
#include "profiler/rehearsal/device/refusal.hpp"

using namespace foreshard::rehearsal;

namespace {

struct Function {
  std::string name;
  void* module;
};

// Of all modules; a function is found by its module and name, and lasts as long as the process.
Function* find_function(void* module, const char* name) {
  static std::mutex mutex;
  static auto& functions = *new std::unordered_map<std::string, std::unique_ptr<Function>>;
  const std::lock_guard lock(mutex);
  auto& found = functions[std::to_string(reinterpret_cast<std::uintptr_t>(module)) + " " + name];
  if (found == nullptr) found = std::make_unique<Function>(Function{name, module});
  return found.get();
}

// Modules differ, though nothing is known of them.
template <class Handle>
CUresult load(Handle* handle) {
  *handle = reinterpret_cast<Handle>(new char);
  return CUDA_SUCCESS;
}

const char* name_of(CUfunction function) {
  return reinterpret_cast<Function*>(function)->name.c_str();
}

CUresult attribute(int* value, CUfunction_attribute attribute) {
  switch (attribute) {
    case CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK: *value = kThreadsPerBlock; break;
    case CU_FUNC_ATTRIBUTE_NUM_REGS: *value = kRegistersPerThread; break;
    case CU_FUNC_ATTRIBUTE_PTX_VERSION:
    case CU_FUNC_ATTRIBUTE_BINARY_VERSION: *value = machine().capability; break;
    case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES:
      *value = machine().shared_per_block;
      break;
    case CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES:
    case CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES:
    case CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES: *value = 0; break;
    default: refuse("attribute " + std::to_string(attribute) + " of cuFuncGetAttribute");
  }
  return CUDA_SUCCESS;
}

}  // namespace

CUresult cuModuleLoadData(CUmodule* module, const void*) {
  return load(module);
}

CUresult cuModuleLoadDataEx(CUmodule* module, const void*, unsigned, CUjit_option*, void**) {
  return load(module);
}

CUresult cuModuleLoadFatBinary(CUmodule* module, const void*) {
  return load(module);
}

CUresult cuModuleLoad(CUmodule* module, const char*) {
  return load(module);
}

CUresult cuModuleGetFunction(CUfunction* function, CUmodule module, const char* name) {
  *function = reinterpret_cast<CUfunction>(find_function(module, name));
  return CUDA_SUCCESS;
}

CUresult cuLibraryLoadData(CUlibrary* library, const void*, CUjit_option*, void**, unsigned,
                           CUlibraryOption*, void**, unsigned) {
  return load(library);
}

CUresult cuLibraryGetKernel(CUkernel* kernel, CUlibrary library, const char* name) {
  *kernel = reinterpret_cast<CUkernel>(find_function(library, name));
  return CUDA_SUCCESS;
}

CUresult cuKernelGetFunction(CUfunction* function, CUkernel kernel) {
  *function = reinterpret_cast<CUfunction>(kernel);
  return CUDA_SUCCESS;
}

CUresult cuFuncGetName(const char** name, CUfunction function) {
  *name = name_of(function);
  return CUDA_SUCCESS;
}

CUresult cuFuncGetModule(CUmodule* module, CUfunction function) {
  *module = static_cast<CUmodule>(reinterpret_cast<Function*>(function)->module);
  return CUDA_SUCCESS;
}

CUresult cuFuncGetAttribute(int* value, CUfunction_attribute which, CUfunction) {
  return attribute(value, which);
}

CUresult cuKernelGetAttribute(int* value, CUfunction_attribute which, CUkernel, CUdevice) {
  return attribute(value, which);
}

CUresult cuOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, CUfunction, int threads,
                                                     std::size_t shared_bytes) {
  *blocks = blocks_per_multiprocessor(threads, shared_bytes);
  return CUDA_SUCCESS;
}

CUresult cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int* blocks, CUfunction, int threads,
                                                              std::size_t shared_bytes, unsigned) {
  *blocks = blocks_per_multiprocessor(threads, shared_bytes);
  return CUDA_SUCCESS;
}

CUresult cuLaunchKernel(CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                        unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared_bytes,
                        CUstream stream, void**, void**) {
  launch(name_of(function),
         {{grid_x, grid_y, grid_z}, {block_x, block_y, block_z}, shared_bytes, stream});
  return CUDA_SUCCESS;
}

CUresult cuLaunchKernelEx(const CUlaunchConfig* config, CUfunction function, void**, void**) {
  launch(name_of(function), {{config->gridDimX, config->gridDimY, config->gridDimZ},
                             {config->blockDimX, config->blockDimY, config->blockDimZ},
                             config->sharedMemBytes,
                             config->hStream});
  return CUDA_SUCCESS;
}

CUresult cuLaunchCooperativeKernel(CUfunction function, unsigned grid_x, unsigned grid_y,
                                   unsigned grid_z, unsigned block_x, unsigned block_y,
                                   unsigned block_z, unsigned shared_bytes, CUstream stream,
                                   void** arguments) {
  return cuLaunchKernel(function, grid_x, grid_y, grid_z, block_x, block_y, block_z, shared_bytes,
                        stream, arguments, nullptr);
}

// How a kernel is to read an array: nothing is read.
CUresult cuTensorMapEncodeTiled(CUtensorMap* map, CUtensorMapDataType, cuuint32_t, void*,
                                const cuuint64_t*, const cuuint64_t*, const cuuint32_t*,
                                const cuuint32_t*, CUtensorMapInterleave, CUtensorMapSwizzle,
                                CUtensorMapL2promotion, CUtensorMapFloatOOBfill) {
  *map = {};
  return CUDA_SUCCESS;
}
