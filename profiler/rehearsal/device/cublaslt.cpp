// cuBLASLt: descriptions of products keep what the log tells of them; any algorithm is found,
// without workspace.
#include <cstring>

#include <cublasLt.h>

#include "profiler/rehearsal/device/products.hpp"
#include "profiler/rehearsal/device/real_libraries.hpp"

using namespace foreshard::rehearsal;

namespace {

struct Description {
  std::int32_t transposes_a = CUBLAS_OP_N;
};

struct Layout {
  std::uint64_t rows = 0, columns = 0;
  std::int32_t batch = 1;
};

const Layout& of(cublasLtMatrixLayout_t layout) {
  return *reinterpret_cast<const Layout*>(layout);
}

void assign(std::int32_t& field, const void* value, std::size_t bytes) {
  if (bytes == sizeof field) std::memcpy(&field, value, bytes);
}

}  // namespace

std::size_t cublasLtGetVersion() {
  return static_cast<std::size_t>(cublas_version());
}

cublasStatus_t cublasLtCreate(cublasLtHandle_t* handle) {
  *handle = reinterpret_cast<cublasLtHandle_t>(new char);
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtDestroy(cublasLtHandle_t handle) {
  delete reinterpret_cast<char*>(handle);
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulDescCreate(cublasLtMatmulDesc_t* description, cublasComputeType_t,
                                        cudaDataType_t) {
  *description = reinterpret_cast<cublasLtMatmulDesc_t>(new Description);
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulDescDestroy(cublasLtMatmulDesc_t description) {
  delete reinterpret_cast<Description*>(description);
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulDescSetAttribute(cublasLtMatmulDesc_t description,
                                              cublasLtMatmulDescAttributes_t attribute,
                                              const void* value, std::size_t bytes) {
  if (attribute == CUBLASLT_MATMUL_DESC_TRANSA)
    assign(reinterpret_cast<Description*>(description)->transposes_a, value, bytes);
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatrixLayoutCreate(cublasLtMatrixLayout_t* layout, cudaDataType,
                                          std::uint64_t rows, std::uint64_t columns, std::int64_t) {
  *layout = reinterpret_cast<cublasLtMatrixLayout_t>(new Layout{rows, columns});
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatrixLayoutDestroy(cublasLtMatrixLayout_t layout) {
  delete reinterpret_cast<Layout*>(layout);
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatrixLayoutSetAttribute(cublasLtMatrixLayout_t layout,
                                                cublasLtMatrixLayoutAttribute_t attribute,
                                                const void* value, std::size_t bytes) {
  if (attribute == CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT)
    assign(reinterpret_cast<Layout*>(layout)->batch, value, bytes);
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulPreferenceCreate(cublasLtMatmulPreference_t* preference) {
  *preference = new cublasLtMatmulPreferenceOpaque_t{};
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulPreferenceDestroy(cublasLtMatmulPreference_t preference) {
  delete preference;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulAlgoGetHeuristic(cublasLtHandle_t, cublasLtMatmulDesc_t,
                                              cublasLtMatrixLayout_t, cublasLtMatrixLayout_t,
                                              cublasLtMatrixLayout_t, cublasLtMatrixLayout_t,
                                              cublasLtMatmulPreference_t, int wanted,
                                              cublasLtMatmulHeuristicResult_t results[],
                                              int* found) {
  *found = wanted > 0 ? 1 : 0;
  if (wanted > 0) {
    results[0] = {};
    results[0].state = CUBLAS_STATUS_SUCCESS;
    results[0].wavesCount = 1.0f;
  }
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmul(cublasLtHandle_t, cublasLtMatmulDesc_t description, const void*,
                              const void*, cublasLtMatrixLayout_t a, const void*,
                              cublasLtMatrixLayout_t, const void*, const void*,
                              cublasLtMatrixLayout_t, void*, cublasLtMatrixLayout_t d,
                              const cublasLtMatmulAlgo_t*, void*, std::size_t,
                              cudaStream_t stream) {
  const bool is_transposed =
      reinterpret_cast<Description*>(description)->transposes_a != CUBLAS_OP_N;
  const std::uint64_t inner = is_transposed ? of(a).rows : of(a).columns;
  product(stream, static_cast<std::int64_t>(of(d).rows), static_cast<std::int64_t>(of(d).columns),
          static_cast<std::int64_t>(inner), of(d).batch);
  return CUBLAS_STATUS_SUCCESS;
}
