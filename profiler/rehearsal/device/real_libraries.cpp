#include "profiler/rehearsal/device/real_libraries.hpp"

#include <cstddef>
#include <initializer_list>

#include <cublasLt.h>
#include <cuda_runtime_api.h>
#include <cudnn.h>
#include <dlfcn.h>
#include <nccl.h>

namespace foreshard::rehearsal {
namespace {

// Of whichever of the libraries is loaded; nullptr: of none. Loaded libraries stay.
template <class Function>
Function* find(std::initializer_list<const char*> libraries, const char* name) {
  for (const char* library : libraries) {
    void* const loaded = ::dlopen(library, RTLD_LAZY | RTLD_NOLOAD);
    if (loaded == nullptr) continue;
    void* const found = ::dlsym(loaded, name);
    ::dlclose(loaded);
    if (found != nullptr) return reinterpret_cast<Function*>(found);
  }
  return nullptr;
}

// By a function that returns the version, and by one that writes it.
int returned(std::initializer_list<const char*> libraries, const char* name, int otherwise) {
  const auto version = find<std::size_t()>(libraries, name);
  return version == nullptr ? otherwise : static_cast<int>(version());
}

int written(std::initializer_list<const char*> libraries, const char* name, int otherwise) {
  const auto write = find<int(int*)>(libraries, name);
  int version = otherwise;
  return write == nullptr || write(&version) != 0 ? otherwise : version;
}

}  // namespace

int cuda_version() {
  static const int version =
      written({"libcudart.so.13", "libcudart.so.12"}, "cudaRuntimeGetVersion", CUDART_VERSION);
  return version;
}

int cublas_version() {
  static const int version =
      returned({"libcublasLt.so.13", "libcublasLt.so.12"}, "cublasLtGetVersion", CUBLAS_VERSION);
  return version;
}

int cudnn_version() {
  static const int version = returned({"libcudnn.so.9"}, "cudnnGetVersion", CUDNN_VERSION);
  return version;
}

int nccl_version() {
  static const int version = written({"libnccl.so.2"}, "ncclGetVersion", NCCL_VERSION_CODE);
  return version;
}

}  // namespace foreshard::rehearsal
