#include <vector>

#include "models/base/shared_library.hpp"
#include "profiler/record/cupti/activity_recorder.hpp"

namespace foreshard::profiler {
namespace {

// That of the CUDA which the process has. CUDA 13's CUPTI also records programs of CUDA 12, where the driver is
// of CUDA 13; not the other way round.
std::vector<std::string> modules_for_this_process() {
  const std::string of_13 = "libforeshard_cupti.so", of_12 = "libforeshard_cupti12.so";
  if (SharedLibrary::is_loaded("libcudart.so.13")) return {of_13};
  if (SharedLibrary::is_loaded("libcudart.so.12")) return {of_12, of_13};
  return {of_13, of_12};
}

}  // namespace

Result<std::unique_ptr<ActivityRecorder>> load_activity_recorder(const std::string& directory) {
  std::string why;
  for (const std::string& module : modules_for_this_process()) {
    const auto make = load_entry<ActivityRecorder*()>(directory + "/" + module,
                                                      "foreshard_make_activity_recorder");
    if (make) return std::unique_ptr<ActivityRecorder>((*make)());
    if (why.empty()) why = make.error();
  }
  return fail("", "",
              "GPUs cannot be recorded: " + why +
                  "; expected a program built with CUDA, and NVIDIA's CUPTI of CUDA 13 or 12: the "
                  "toolkit, or Python's package nvidia-cuda-cupti (nvidia-cuda-cupti-cu12)");
}

}  // namespace foreshard::profiler
