// Records of NVTX's ranges in the host's CUPTI.
#pragma once

#include <cstdint>

#include <cupti.h>

namespace foreshard::host_cuda {

// A range of that number begins or ends; `name`: of one that begins.
void mark(std::uint32_t range, CUpti_ActivityFlag flag, const char* name);

}  // namespace foreshard::host_cuda
