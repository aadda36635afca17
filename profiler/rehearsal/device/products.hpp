// Matrix products by cuBLAS and cuBLASLt: counted, with their shapes for the log.
#pragma once

#include <cstdint>

#include <driver_types.h>

namespace foreshard::rehearsal {

// `batch` products of m x k by k x n matrices, by one call.
void product(cudaStream_t stream, std::int64_t m, std::int64_t n, std::int64_t k,
             std::int64_t batch);

}  // namespace foreshard::rehearsal
