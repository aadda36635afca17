// Kernels: known by the name under which a program registered them, or a module was asked for them.
// They are counted, not run.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include <driver_types.h>
#include <vector_types.h>

namespace foreshard::rehearsal {

struct Launch {
  dim3 grid, block;
  std::size_t shared_bytes;
  cudaStream_t stream;
};

struct NamedLaunch {
  const char* name;
  Launch launch;
};

// The name must last as long as the process.
void launch(const char* name, const Launch& launch);

// A product, an execution of cuDNN or a collective, which the library counts itself.
void launched_by_library(const char* what);

// By the calling thread: a kernel's mangled name, or what a library launched; "" for nothing.
const char* last_launched();

// The kernel that the runtime knows by the address of its stub in the program; refuses what is not
// registered.
const char* registered_name(const void* stub);

// Where a __device__ or __constant__ variable of the program is on the device; 0: it has none.
std::uintptr_t variable_address(const void* variable);

// How many blocks fit into a multiprocessor at once, by threads and shared memory: registers are
// not known.
int blocks_per_multiprocessor(int threads, std::size_t shared_bytes);
inline constexpr int kRegistersPerThread = 32;  // that kernels say they use, for the same reason

}  // namespace foreshard::rehearsal
