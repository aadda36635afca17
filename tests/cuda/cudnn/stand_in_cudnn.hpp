// Whether the emulated device of this process has cuDNN's stand-in. Without effect on a GPU.
#pragma once

namespace foreshard::executor::cuda {

struct StandInCudnn {
  inline static bool is_there = false;
  StandInCudnn() { is_there = true; }
  ~StandInCudnn() { is_there = false; }
  StandInCudnn(const StandInCudnn&) = delete;
  StandInCudnn& operator=(const StandInCudnn&) = delete;
};

}  // namespace foreshard::executor::cuda
