#include "executor/cuda/kernels/launch.cuh"
#include "executor/cuda/kernels/word.hpp"

namespace foreshard::executor::cuda {
namespace {

__global__ void store_word(unsigned long long* word, unsigned long long value) {
  __stwt(word, value);
}

}  // namespace

void write_word(cudaStream_t stream, std::uint64_t* word, std::uint64_t value) {
  start(stream, 1, 1, store_word, reinterpret_cast<unsigned long long*>(word), value);
}

}  // namespace foreshard::executor::cuda
