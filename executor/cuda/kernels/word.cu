#include "executor/cuda/kernels/launch.cuh"
#include "executor/cuda/kernels/word.hpp"

namespace foreshard::executor::cuda {
namespace {

__global__ void store_word(volatile std::uint64_t* word, std::uint64_t value) {
  *word = value;
}

}  // namespace

void write_word(cudaStream_t stream, std::uint64_t* word, std::uint64_t value) {
  start(stream, 1, 1, store_word, word, value);
}

}  // namespace foreshard::executor::cuda
