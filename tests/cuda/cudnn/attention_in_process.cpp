// The loader of libforeshard_cudnn.so, for tests that run the emulated device in their own process: cuDNN is not there
// but where they say so (stand_in_cudnn.hpp).
#include "executor/cuda/kernels/cudnn/fused_attention.hpp"
#include "tests/cuda/cudnn/stand_in_cudnn.hpp"

extern "C" foreshard::executor::cuda::FusedAttention* foreshard_make_fused_attention();

namespace foreshard::executor::cuda {

bool has_fused_attention() {
  return StandInCudnn::is_there;
}

std::string attention_library() {
  return has_fused_attention() ? "cuDNN" : "plain (the test has none)";
}

std::unique_ptr<FusedAttention> load_fused_attention() {
  return std::unique_ptr<FusedAttention>(has_fused_attention() ? foreshard_make_fused_attention()
                                                               : nullptr);
}

}  // namespace foreshard::executor::cuda
