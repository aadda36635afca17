// Which of several ways to do the same on a stream is the quickest, by the device's clock.
#pragma once

#include <cstddef>
#include <functional>

#include <cuda_runtime_api.h>

#include "executor/device/run_control.hpp"

namespace foreshard::executor::cuda {

// Index of the one that takes the least of a few times. `issue`: the way of an index; false: it cannot be done.
// All that has been issued before on the stream is waited for; throws Aborted, and std::runtime_error of CUDA.
std::size_t quickest(RunControl& run, cudaStream_t stream, std::size_t ways,
                     const std::function<bool(std::size_t)>& issue);

}  // namespace foreshard::executor::cuda
