#include "profiler/rehearsal/device/kernels.hpp"

#include <algorithm>
#include <mutex>
#include <shared_mutex>
#include <unordered_map>

#include "profiler/rehearsal/device/counts.hpp"
#include "profiler/rehearsal/device/cupti_records.hpp"
#include "profiler/rehearsal/device/device_memory.hpp"
#include "profiler/rehearsal/device/durations.hpp"
#include "profiler/rehearsal/device/log.hpp"
#include "profiler/rehearsal/device/machine.hpp"
#include "profiler/rehearsal/device/refusal.hpp"
#include "profiler/rehearsal/device/streams.hpp"

namespace foreshard::rehearsal {
namespace {

struct Variable {
  std::size_t bytes;
  std::uintptr_t address = 0;  // once somebody asks
};

struct Program {
  std::shared_mutex mutex;
  std::unordered_map<const void*, const char*> kernels;
  std::unordered_map<const void*, Variable> variables;
};

Program& program() {
  static auto& program = *new Program;
  return program;
}

thread_local const char* last = "";

}  // namespace

void launch(const char* name, const Launch& launch) {
  last = name;
  const auto& [grid, block, shared_bytes, stream] = launch;
  log_line(record_kernel(name, launch), "LAUNCH %p %ux%ux%u %ux%ux%u %zu %s",
           static_cast<void*>(stream), grid.x, grid.y, grid.z, block.x, block.y, block.z,
           shared_bytes, name);
  count_launch(stream);
  work(stream, durations::kKernel);
}

void launched_by_library(const char* what) {
  last = what;
}

const char* last_launched() {
  return last;
}

const char* registered_name(const void* stub) {
  const std::shared_lock lock(program().mutex);
  const auto at = program().kernels.find(stub);
  if (at == program().kernels.end()) stop("a kernel is launched that no program registered");
  return at->second;
}

std::uintptr_t variable_address(const void* variable) {
  const std::unique_lock lock(program().mutex);
  const auto at = program().variables.find(variable);
  if (at == program().variables.end()) return 0;
  Variable& found = at->second;
  if (found.address == 0) {
    const std::size_t pages = (std::max<std::size_t>(found.bytes, 1) + kPage - 1) / kPage * kPage;
    found.address = reserve(pages, kPage);
    make_accessible(found.address, pages);
  }
  return found.address;
}

int blocks_per_multiprocessor(int threads, std::size_t shared_bytes) {
  const int by_threads =
      machine().threads_per_multiprocessor / ((std::max(threads, 1) + kWarp - 1) / kWarp * kWarp);
  const std::size_t by_shared = static_cast<std::size_t>(machine().shared_per_multiprocessor) /
                                (shared_bytes + kReservedShared);
  return std::min({by_threads, machine().blocks_per_multiprocessor, static_cast<int>(by_shared)});
}

}  // namespace foreshard::rehearsal

// What nvcc makes programs call (crt/host_runtime.h): a fat binary is registered, then its kernels
// and variables.
using namespace foreshard::rehearsal;

extern "C" {

void** __cudaRegisterFatBinary(void*) {
  static void* handle;
  return &handle;
}

void __cudaRegisterFatBinaryEnd(void**) {}

void __cudaUnregisterFatBinary(void**) {}

char __cudaInitModule(void**) {
  return 1;
}

void __cudaRegisterFunction(void**, const char* stub, char*, const char* name, int, uint3*, uint3*,
                            dim3*, dim3*, int*) {
  const std::unique_lock lock(program().mutex);
  program().kernels[stub] = name;
}

void __cudaRegisterVar(void**, char* variable, char*, const char*, int, std::size_t bytes, int,
                       int) {
  const std::unique_lock lock(program().mutex);
  program().variables[variable] = {bytes};
}

}  // extern "C"
