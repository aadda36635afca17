#include <dlfcn.h>

#include "profiler/record/cupti/activity_recorder.hpp"

namespace foreshard::profiler {

Result<std::unique_ptr<ActivityRecorder>> load_activity_recorder(const std::string& directory) {
  const std::string path = directory + "/libforeshard_cupti.so";
  // It stays for as long as the process: CUPTI's threads call into it.
  void* const library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    return fail(path, "",
                std::string("cannot be loaded to record GPUs (") + dlerror() +
                    "); expected NVIDIA's CUPTI of CUDA 13 on this machine and a program built "
                    "with it");
  }
  using Make = ActivityRecorder* (*)();
  const auto make = reinterpret_cast<Make>(dlsym(library, "foreshard_make_activity_recorder"));
  if (make == nullptr) {
    return fail(path, "",
                "is not of this program; expected foreshard_make_activity_recorder in it");
  }
  return std::unique_ptr<ActivityRecorder>(make());
}

}  // namespace foreshard::profiler
