// What CUPTI's activity records are made of (cupti.cpp): work as it is issued.
#pragma once

#include <cstddef>

#include <driver_types.h>

#include "profiler/rehearsal/device/kernels.hpp"

namespace foreshard::rehearsal {

void record_kernel(const char* name, const Launch& launch);
void record_copy(cudaStream_t stream, bool is_to_device, bool is_from_device, std::size_t bytes);
void record_memset(cudaStream_t stream, int value, std::size_t bytes);

}  // namespace foreshard::rehearsal
