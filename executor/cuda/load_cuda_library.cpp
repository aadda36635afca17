#include "executor/cuda/cuda_library.hpp"
#include "models/base/shared_library.hpp"

namespace foreshard::executor {

Result<std::unique_ptr<CudaLibrary>> load_cuda_library(const std::string& directory) {
  const auto make = load_entry<CudaLibrary*()>(directory + "/libforeshard_cuda.so",
                                               "foreshard_make_cuda_library");
  if (make) return std::unique_ptr<CudaLibrary>((*make)());
  return fail("--device", "cuda",
              make.error() +
                  "; expected a program built with CUDA, and NVIDIA's libraries of CUDA 13: the "
                  "toolkit, or Python's packages that PyTorch comes with");
}

}  // namespace foreshard::executor
