// cuBLAS: handles, products of matrices and of vectors.
#include <cublas_v2.h>

#include "profiler/rehearsal/device/library_handle.hpp"
#include "profiler/rehearsal/device/products.hpp"
#include "profiler/rehearsal/device/real_libraries.hpp"
#include "profiler/rehearsal/device/refusal.hpp"

using namespace foreshard::rehearsal;

struct cublasContext : LibraryHandle {
  cublasMath_t math = CUBLAS_DEFAULT_MATH;
  cublasPointerMode_t pointers = CUBLAS_POINTER_MODE_HOST;
};

namespace {

cublasStatus_t count(cublasHandle_t handle, int m, int n, int k, int batch = 1) {
  product(handle->stream, m, n, k, batch);
  return CUBLAS_STATUS_SUCCESS;
}

// A number that the host would be told at once.
cublasStatus_t count_dot(cublasHandle_t handle, int n) {
  if (handle->pointers == CUBLAS_POINTER_MODE_HOST)
    refuse("a dot product that cuBLAS returns to the host");
  return count(handle, 1, 1, n);
}

}  // namespace

cublasStatus_t cublasCreate(cublasHandle_t* handle) {
  *handle = new cublasContext;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasDestroy(cublasHandle_t handle) {
  delete handle;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasGetVersion(cublasHandle_t, int* version) {
  *version = cublas_version();
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasSetStream(cublasHandle_t handle, cudaStream_t stream) {
  handle->stream = stream;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasGetStream(cublasHandle_t handle, cudaStream_t* stream) {
  *stream = handle->stream;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasSetMathMode(cublasHandle_t handle, cublasMath_t math) {
  handle->math = math;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasGetMathMode(cublasHandle_t handle, cublasMath_t* math) {
  *math = handle->math;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasSetPointerMode(cublasHandle_t handle, cublasPointerMode_t pointers) {
  handle->pointers = pointers;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasGetPointerMode(cublasHandle_t handle, cublasPointerMode_t* pointers) {
  *pointers = handle->pointers;
  return CUBLAS_STATUS_SUCCESS;
}

// No call here fails.
const char* cublasGetStatusName(cublasStatus_t) {
  return "CUBLAS_STATUS_SUCCESS";
}

const char* cublasGetStatusString(cublasStatus_t) {
  return "success";
}

// The same functions for each type of the elements.
#define FORESHARD_PRODUCTS(LETTER, T)                                                              \
  cublasStatus_t cublas##LETTER##gemm(cublasHandle_t handle, cublasOperation_t, cublasOperation_t, \
                                      int m, int n, int k, const T*, const T*, int, const T*, int, \
                                      const T*, T*, int) {                                         \
    return count(handle, m, n, k);                                                                 \
  }                                                                                                \
  cublasStatus_t cublas##LETTER##gemmStridedBatched(                                               \
      cublasHandle_t handle, cublasOperation_t, cublasOperation_t, int m, int n, int k, const T*,  \
      const T*, int, long long, const T*, int, long long, const T*, T*, int, long long,            \
      int batch) {                                                                                 \
    return count(handle, m, n, k, batch);                                                          \
  }                                                                                                \
  cublasStatus_t cublas##LETTER##gemmBatched(                                                      \
      cublasHandle_t handle, cublasOperation_t, cublasOperation_t, int m, int n, int k, const T*,  \
      const T* const[], int, const T* const[], int, const T*, T* const[], int, int batch) {        \
    return count(handle, m, n, k, batch);                                                          \
  }                                                                                                \
  cublasStatus_t cublas##LETTER##gemv(cublasHandle_t handle, cublasOperation_t transposed, int m,  \
                                      int n, const T*, const T*, int, const T*, int, const T*, T*, \
                                      int) {                                                       \
    return transposed == CUBLAS_OP_N ? count(handle, m, 1, n) : count(handle, n, 1, m);            \
  }
FORESHARD_PRODUCTS(S, float)
FORESHARD_PRODUCTS(D, double)
FORESHARD_PRODUCTS(C, cuComplex)
FORESHARD_PRODUCTS(Z, cuDoubleComplex)
#undef FORESHARD_PRODUCTS

#define FORESHARD_DOT(NAME, T)                                                                  \
  cublasStatus_t cublas##NAME(cublasHandle_t handle, int n, const T*, int, const T*, int, T*) { \
    return count_dot(handle, n);                                                                \
  }
FORESHARD_DOT(Sdot, float)
FORESHARD_DOT(Ddot, double)
FORESHARD_DOT(Cdotu, cuComplex)
FORESHARD_DOT(Cdotc, cuComplex)
FORESHARD_DOT(Zdotu, cuDoubleComplex)
FORESHARD_DOT(Zdotc, cuDoubleComplex)
#undef FORESHARD_DOT

cublasStatus_t cublasDotEx(cublasHandle_t handle, int n, const void*, cudaDataType, int,
                           const void*, cudaDataType, int, void*, cudaDataType, cudaDataType) {
  return count_dot(handle, n);
}

cublasStatus_t cublasSgemmEx(cublasHandle_t handle, cublasOperation_t, cublasOperation_t, int m,
                             int n, int k, const float*, const void*, cudaDataType, int,
                             const void*, cudaDataType, int, const float*, void*, cudaDataType,
                             int) {
  return count(handle, m, n, k);
}

cublasStatus_t cublasGemmEx(cublasHandle_t handle, cublasOperation_t, cublasOperation_t, int m,
                            int n, int k, const void*, const void*, cudaDataType, int, const void*,
                            cudaDataType, int, const void*, void*, cudaDataType, int,
                            cublasComputeType_t, cublasGemmAlgo_t) {
  return count(handle, m, n, k);
}

cublasStatus_t cublasGemmStridedBatchedEx(cublasHandle_t handle, cublasOperation_t,
                                          cublasOperation_t, int m, int n, int k, const void*,
                                          const void*, cudaDataType, int, long long, const void*,
                                          cudaDataType, int, long long, const void*, void*,
                                          cudaDataType, int, long long, int batch,
                                          cublasComputeType_t, cublasGemmAlgo_t) {
  return count(handle, m, n, k, batch);
}

cublasStatus_t cublasGemmBatchedEx(cublasHandle_t handle, cublasOperation_t, cublasOperation_t,
                                   int m, int n, int k, const void*, const void* const[],
                                   cudaDataType, int, const void* const[], cudaDataType, int,
                                   const void*, void* const[], cudaDataType, int, int batch,
                                   cublasComputeType_t, cublasGemmAlgo_t) {
  return count(handle, m, n, k, batch);
}
