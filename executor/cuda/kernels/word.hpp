// A word that a stream writes where the host can read it.
#pragma once

#include <cstdint>

#include <cuda_runtime_api.h>

namespace foreshard::executor::cuda {

// `word`: pinned memory of the host.
void write_word(cudaStream_t stream, std::uint64_t* word, std::uint64_t value);

}  // namespace foreshard::executor::cuda
