// Kernels that fail: as with CUDA, what is wrong shows at a later call, and at all that follow.
//
//   FORESHARD_HOST_CUDA_FAULT=N:TEXT   the N-th kernel whose mangled name has TEXT in it accesses memory
//                                      that is not there
#pragma once

#include <functional>
#include <string>

#include <cuda_runtime_api.h>

namespace foreshard::host_cuda {

// A kernel as it is launched, which does nothing where it or one before fails. As a stream's task.
std::function<void()> that_may_fail(const std::string& name, std::function<void()> kernel);

// What every call answers once a kernel has failed; cudaSuccess until then.
cudaError_t lasting_error();

}  // namespace foreshard::host_cuda
