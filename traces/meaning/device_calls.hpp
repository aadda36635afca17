// What calls of a device's runtime or driver do, by their names in recordings.
#pragma once

#include <string_view>

namespace foreshard::traces {

// Calls of CUDA, HIP or XPU that return once the device is done. A synchronous copy is one, and
// launches its copy as well.
bool is_blocking_call(std::string_view call);

// Calls of CUDA or HIP that launch one kernel.
bool launches_kernel(std::string_view call);

}  // namespace foreshard::traces
