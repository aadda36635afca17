#include <dlfcn.h>

#include "executor/cuda/cuda_library.hpp"

namespace foreshard::executor {

Result<std::unique_ptr<CudaLibrary>> load_cuda_library(const std::string& directory) {
  const std::string path = directory + "/libforeshard_cuda.so";
  // It stays for as long as the process: destructors of its objects are in it.
  void* const library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    return fail("--device", "cuda",
                std::string("CUDA cannot be loaded (") + dlerror() +
                    "); expected NVIDIA's CUDA 13 libraries on this machine and a program built "
                    "with them");
  }
  using Make = CudaLibrary* (*)();
  const auto make = reinterpret_cast<Make>(dlsym(library, "foreshard_make_cuda_library"));
  if (make == nullptr) {
    return fail(path, "", "is not of this program; expected foreshard_make_cuda_library in it");
  }
  return std::unique_ptr<CudaLibrary>(make());
}

}  // namespace foreshard::executor
