#include "models/base/shared_library.hpp"
#include "profiler/record/cupti/activity_recorder.hpp"

namespace foreshard::profiler {

Result<std::unique_ptr<ActivityRecorder>> load_activity_recorder(const std::string& directory) {
  const auto make = load_entry<ActivityRecorder*()>(directory + "/libforeshard_cupti.so",
                                                    "foreshard_make_activity_recorder");
  if (make) return std::unique_ptr<ActivityRecorder>((*make)());
  return fail("", "",
              "GPUs cannot be recorded: " + make.error() +
                  "; expected a program built with CUDA, and NVIDIA's CUPTI of CUDA 13: the "
                  "toolkit, or Python's package nvidia-cuda-cupti");
}

}  // namespace foreshard::profiler
