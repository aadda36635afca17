// The runtime's devices and their memory, shared by its parts: how much of it this process uses,
// and which device may touch what.
#pragma once

#include <cstddef>
#include <cstdint>
#include <set>

namespace foreshard::host_cuda {

// A number of the environment.
std::int64_t setting(const char* name, std::int64_t otherwise);

int devices();
std::int64_t capacity();  // of each device, in bytes
int current_device();     // of this thread

// This process works with the device from now on, which takes memory for its context and, when it
// first runs one, for its kernels.
void use_device(int device);
void load_kernels(int device);
bool has_context(int device);
void forget_contexts();  // has_context tells of what comes

// In bytes. `take`: false where the device has not so much left.
bool take(int device, std::int64_t bytes);
void give_back(int device, std::int64_t bytes);
std::int64_t used(int device);            // by this process
std::int64_t used_by_others(int device);  // by other processes

// Memory of a device at these addresses: what cudaMalloc returns, which devices with peer access to
// its own may read too, or what is mapped there, which only devices may touch that are told so.
void add_memory(const void* at, std::size_t bytes, int device, bool is_mapped);
void remove_memory(const void* at);
void allow(const void* at, std::size_t bytes, const std::set<int>& devices);
// For kernels and for copies on a device; anything is allowed with memory of the host.
bool can_touch(int device, const void* at);
bool can_copy(int device, const void* at);
// No address among a kernel's argument is of memory that the device may not touch.
bool can_touch_all(int device, const void* argument, std::size_t bytes);

}  // namespace foreshard::host_cuda
