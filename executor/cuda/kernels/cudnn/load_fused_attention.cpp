#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "executor/cuda/kernels/cudnn/fused_attention.hpp"
#include "models/base/figures.hpp"
#include "models/base/shared_library.hpp"

namespace foreshard::executor::cuda {
namespace {

using Make = FusedAttention*();

Loaded<Make*> find_library() {
  const char* const wish = std::getenv("FORESHARD_CUDNN");
  if (wish != nullptr && std::strcmp(wish, "0") == 0) {
    return tl::unexpected<std::string>("FORESHARD_CUDNN is 0");
  }
  std::filesystem::path beside = library_of(reinterpret_cast<const void*>(&find_library));
  return load_entry<Make>(beside.replace_filename("libforeshard_cudnn.so").string(),
                          "foreshard_make_fused_attention");
}

const Loaded<Make*>& library() {
  static const Loaded<Make*> make = find_library();
  return make;
}

}  // namespace

bool has_fused_attention() {
  return library().has_value();
}

std::string attention_library() {
  if (!library()) return "plain (" + library().error() + ")";
  const auto cudnn = SharedLibrary::load("libcudnn.so.9");  // that of libforeshard_cudnn.so
  const auto version = cudnn ? cudnn->function<std::size_t()>("cudnnGetVersion") : nullptr;
  if (version == nullptr) return "cuDNN";
  return "cuDNN " + version_text(static_cast<std::int64_t>(version()));
}

std::unique_ptr<FusedAttention> load_fused_attention() {
  return std::unique_ptr<FusedAttention>(library() ? (*library())() : nullptr);
}

}  // namespace foreshard::executor::cuda
