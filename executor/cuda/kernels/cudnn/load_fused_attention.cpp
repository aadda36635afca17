#include <cstdlib>
#include <cstring>
#include <filesystem>

#include <dlfcn.h>

#include "executor/cuda/kernels/cudnn/fused_attention.hpp"

namespace foreshard::executor::cuda {
namespace {

using Make = FusedAttention* (*)();

Make find_library() {
  const char* const wish = std::getenv("FORESHARD_CUDNN");
  if (wish != nullptr && std::strcmp(wish, "0") == 0) return nullptr;
  Dl_info here{};
  if (dladdr(reinterpret_cast<void*>(&find_library), &here) == 0) return nullptr;
  const auto path = std::filesystem::path(here.dli_fname).replace_filename("libforeshard_cudnn.so");
  void* const library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return nullptr;
  return reinterpret_cast<Make>(dlsym(library, "foreshard_make_fused_attention"));
}

Make library() {
  static const Make make = find_library();
  return make;
}

}  // namespace

bool has_fused_attention() {
  return library() != nullptr;
}

std::unique_ptr<FusedAttention> load_fused_attention() {
  return std::unique_ptr<FusedAttention>(library() == nullptr ? nullptr : library()());
}

}  // namespace foreshard::executor::cuda
