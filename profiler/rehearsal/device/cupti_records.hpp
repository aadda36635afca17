// What CUPTI's activity records are made of (cupti.cpp): work as it is issued, and calls that order it.
//
// Each returns what the records know the call by, which its line of the log has as well (log.hpp).
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include <driver_types.h>

#include "profiler/rehearsal/device/kernels.hpp"
#include "profiler/rehearsal/device/log.hpp"

namespace foreshard::rehearsal {

// Calls that launch nothing.
enum class OrderingCall : std::uint8_t {
  record_event,
  wait_for_event,
  synchronize_event,
  synchronize_stream,
  synchronize_device,
};

CallId record_kernel(const char* name, const Launch& launch);
// A CUDA graph's, which one call launches.
CallId record_graph(const std::vector<NamedLaunch>& kernels, cudaStream_t stream);
CallId record_copy(cudaStream_t stream, bool is_to_device, bool is_from_device, std::size_t bytes);
CallId record_memset(cudaStream_t stream, int value, std::size_t bytes);
CallId record_call(OrderingCall call);

}  // namespace foreshard::rehearsal
