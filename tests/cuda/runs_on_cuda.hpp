// Random jobs on the CUDA device, in this process.
#pragma once

#include <memory>

#include "executor/cuda/cuda_library.hpp"
#include "models/sharding/cuda_device.hpp"
#include "tests/property/random_job.hpp"
#include "tests/property/run_and_prediction.hpp"

extern "C" foreshard::executor::CudaLibrary* foreshard_make_cuda_library();

namespace foreshard::tests {

inline executor::CudaLibrary& library() {
  static const std::unique_ptr<executor::CudaLibrary> instance(foreshard_make_cuda_library());
  return *instance;
}

// Its GPU, deterministic, as tests compare bits.
inline DeviceTraits tested_gpu() {
  DeviceTraits traits = library().devices()->front().traits;
  traits.is_deterministic = true;
  return traits;
}

inline RunOptions on_cuda(RunOptions how = {}) {
  how.make_device = [](executor::RunControl& control, int rank, std::span<const StreamInfo> streams,
                       int /*threads*/) {
    return library().make_device(control, rank, 0, streams, {.traits = tested_gpu()});
  };
  how.make_communicators = [](executor::RunControl& control,
                              std::span<executor::Device* const> devices,
                              std::span<const int> /*ranks*/, executor::Transport* /*transport*/) {
    return library().make_local_communicators(control, devices);
  };
  return how;
}

// A small one, as its threads are fibers here, for the runtime's own device.
inline Job drawn(JobDrawer& drawer) {
  Job job = drawer.draw();
  while (job.model.layers > 3 || job.plan.tokens() > 64 || job.ranks > 4) job = drawer.draw();
  job.own_device = job.device = tested_gpu();
  return job;
}

}  // namespace foreshard::tests
