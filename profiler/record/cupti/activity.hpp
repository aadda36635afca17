// What a CUDA device or CUDA's runtime did, as CUPTI reports it, without CUPTI's types: they differ
// from version to version, and most of the program is built without CUDA.
#pragma once

#include <array>
#include <cstdint>

namespace foreshard::profiler {

enum class ActivityKind : std::uint8_t {
  kernel,
  copy,
  fill,
  runtime_call,
  driver_call,
  synchronization,  // a host thread or a stream waited
  external_id,      // joins a call, by its correlation, with the id that was pushed around it
  overhead,         // time that recording took from the program
  allocation,       // of device or pinned memory
  marker,           // a moment or the begin or end of an NVTX range
  memory_pool,      // a pool of cudaMallocAsync was created, destroyed or trimmed
  kCount
};

// Fields that a kind does not have are 0. Times are nanoseconds of the recording's clock.
struct Activity {
  ActivityKind kind = ActivityKind::kernel;
  // copy: CUpti_ActivityMemcpyKind; synchronization: ..SynchronizationType;
  // overhead: ..OverheadKind; marker: CUpti_ActivityFlag; allocation: 1 allocated, 2 freed;
  // memory_pool: 1 created, 2 destroyed, 3 trimmed
  std::uint32_t detail = 0;
  std::uint8_t from_memory = 0,
               to_memory = 0;  // CUpti_ActivityMemoryKind; a fill or allocation: to
  std::int64_t start_ns = 0, end_ns = 0;
  std::uint32_t process = 0, thread = 0;
  std::uint32_t device = 0, context = 0, stream = 0;
  // Joins work with the call that launched it, within a process.
  std::uint32_t correlation = 0;
  // external_id: what was pushed; a call: its number; allocation: the address; marker: the range's
  // number; synchronization: the event's; memory_pool: the pool's address
  std::uint64_t id = 0;
  std::int64_t bytes = 0;  // memory_pool: those that the pool now holds of the device
  // allocation: the pool that it is in, and the bytes that the pool now holds; 0: in none
  std::uint64_t pool = 0;
  std::int64_t pool_bytes = 0;
  const char* name = nullptr;    // of a kernel (mangled), a call or a marker; not of all records
  const char* domain = nullptr;  // of a marker
  std::array<std::uint32_t, 3> grid{}, block{};
};

}  // namespace foreshard::profiler
