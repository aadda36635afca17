// The part of cuBLASLt that Foreshard calls, on the host: products of matrices by columns, in fp32
// and bf16, summed in fp32 in the order of k; operands of fp32 lose all but 10 bits of mantissa
// where TF32 is asked for. Algorithms take 1 KiB of workspace, which they write to, so that a wrong workspace shows,
// and are refused a bias that is less aligned than the one which was there when they were chosen. A product in bf16 is
// rounded before its bias is added, as some kernels of cuBLASLt do.
//
// The first is one that rounds parts of a long sum in bf16 to bf16 (split-K), unless the preference forbids that, as
// cuBLASLt may choose by its documentation of CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK.
//
//   FORESHARD_HOST_CUBLAS_SLOW=1   before the one that adds up in the order of k come a slow one, which adds up in
//                                  the opposite order, and one that fails
#include <bit>
#include <chrono>
#include <cstring>
#include <memory>
#include <thread>
#include <vector>

#include <cublasLt.h>
#include <cuda_bf16.h>
#include <cuda_runtime_api.h>

#include "tests/cuda/runtime/activities.hpp"
#include "tests/cuda/runtime/device.hpp"

using namespace foreshard::host_cuda;

namespace {

constexpr std::size_t kWorkspace = 1024;

struct Handle {
  int device;
  std::int64_t bytes;
};
struct Description {
  cublasOperation_t transpose_a = CUBLAS_OP_N, transpose_b = CUBLAS_OP_N;
  cublasLtEpilogue_t epilogue = CUBLASLT_EPILOGUE_DEFAULT;
  const void* bias = nullptr;
  bool rounds_to_tf32 = false;
};
struct Layout {
  cudaDataType_t type;
  std::int64_t rows, columns, stride;
};
struct Preference {
  std::uint64_t workspace = 0;
  std::uint32_t reduction = CUBLASLT_REDUCTION_SCHEME_MASK;
};

// What an algorithm's first words say.
enum class Sum : std::uint64_t { in_order, backwards_and_slow, failing, of_rounded_halves };
struct Algorithm {
  Sum sum;
  std::uint64_t bias_alignment;
};

std::uint64_t alignment(const void* pointer) {
  const auto address = reinterpret_cast<std::uintptr_t>(pointer) | 16;
  return address & -address;
}

struct Task {
  Description description;
  Layout a, b, c;
  const void* a_at;
  const void* b_at;
  const void* c_at;
  void* d_at;
  float alpha, beta;
  void* workspace;
  Sum sum;
};

float value(const Layout& l, const void* at, std::int64_t row, std::int64_t column) {
  const auto i = row + column * l.stride;
  if (l.type == CUDA_R_32F) return static_cast<const float*>(at)[i];
  return __bfloat162float(static_cast<const __nv_bfloat16*>(at)[i]);
}

void set_value(const Layout& l, void* at, std::int64_t row, std::int64_t column, float x) {
  const auto i = row + column * l.stride;
  if (l.type == CUDA_R_32F) {
    static_cast<float*>(at)[i] = x;
  } else {
    static_cast<__nv_bfloat16*>(at)[i] = __float2bfloat16(x);
  }
}

// To the nearest of 10 bits of mantissa.
float tf32(float x) {
  constexpr std::uint32_t kHalf = 1U << 12, kDropped = (1U << 13) - 1;
  return std::bit_cast<float>((std::bit_cast<std::uint32_t>(x) + kHalf) & ~kDropped);
}

float rounded_to_bf16(float x) {
  return __bfloat162float(__float2bfloat16(x));
}

void multiply(const Task& t) {
  if (t.sum == Sum::backwards_and_slow) {
    std::this_thread::sleep_for(std::chrono::milliseconds(30));
  }
  const Description& d = t.description;
  const bool turns_a = d.transpose_a == CUBLAS_OP_T, turns_b = d.transpose_b == CUBLAS_OP_T;
  const std::int64_t depth = turns_a ? t.a.rows : t.a.columns;
  const auto operand = [&d](const Layout& l, const void* at, std::int64_t row,
                            std::int64_t column) {
    const float x = value(l, at, row, column);
    return d.rounds_to_tf32 ? tf32(x) : x;
  };
  for (std::int64_t j = 0; j < t.c.columns; ++j) {
    for (std::int64_t i = 0; i < t.c.rows; ++i) {
      float sum = 0;
      for (std::int64_t n = 0; n < depth; ++n) {
        if (t.sum == Sum::of_rounded_halves && n == depth / 2) sum = rounded_to_bf16(sum);
        const std::int64_t k = t.sum == Sum::backwards_and_slow ? depth - 1 - n : n;
        sum += operand(t.a, t.a_at, turns_a ? k : i, turns_a ? i : k) *
               operand(t.b, t.b_at, turns_b ? j : k, turns_b ? k : j);
      }
      sum *= t.alpha;
      if (t.beta != 0) sum += t.beta * value(t.c, t.c_at, i, j);
      if (d.epilogue == CUBLASLT_EPILOGUE_BIAS) {
        if (t.c.type == CUDA_R_16BF) sum = rounded_to_bf16(sum);
        sum += value({t.c.type, 0, 0, 0}, d.bias, i, 0);
      }
      set_value(t.c, t.d_at, i, j, sum);
    }
  }
  std::memset(t.workspace, 0xff, kWorkspace);
}

template <class Part>
Part& of(void* handle) {
  return *static_cast<Part*>(handle);
}

}  // namespace

extern "C" {

std::size_t cublasLtGetVersion() {
  return CUBLAS_VERSION;
}
cublasStatus_t cublasLtCreate(cublasLtHandle_t* handle) {
  auto made =
      std::make_unique<Handle>(Handle{current_device(), setting("FORESHARD_HOST_CUBLAS_BYTES", 0)});
  if (!take(made->device, made->bytes)) return CUBLAS_STATUS_ALLOC_FAILED;
  *handle = reinterpret_cast<cublasLtHandle_t>(made.release());
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtDestroy(cublasLtHandle_t handle) {
  const std::unique_ptr<Handle> made(reinterpret_cast<Handle*>(handle));
  give_back(made->device, made->bytes);
  return CUBLAS_STATUS_SUCCESS;
}
const char* cublasLtGetStatusString(cublasStatus_t /*status*/) {
  return "an error of the host's cuBLASLt";
}

cublasStatus_t cublasLtMatmulDescCreate(cublasLtMatmulDesc_t* description,
                                        cublasComputeType_t compute, cudaDataType_t scale) {
  const bool is_tf32 = compute == CUBLAS_COMPUTE_32F_FAST_TF32;
  if ((compute != CUBLAS_COMPUTE_32F && !is_tf32) || scale != CUDA_R_32F) {
    return CUBLAS_STATUS_NOT_SUPPORTED;
  }
  auto* const made = new Description;
  made->rounds_to_tf32 = is_tf32;
  *description = reinterpret_cast<cublasLtMatmulDesc_t>(made);
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulDescDestroy(cublasLtMatmulDesc_t description) {
  delete &of<Description>(description);
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulDescSetAttribute(cublasLtMatmulDesc_t description,
                                              cublasLtMatmulDescAttributes_t attribute,
                                              const void* buffer, std::size_t bytes) {
  auto& d = of<Description>(description);
  const auto take = [&](auto& field) {
    if (bytes != sizeof field) return CUBLAS_STATUS_INVALID_VALUE;
    std::memcpy(&field, buffer, bytes);
    return CUBLAS_STATUS_SUCCESS;
  };
  switch (attribute) {
    case CUBLASLT_MATMUL_DESC_TRANSA: return take(d.transpose_a);
    case CUBLASLT_MATMUL_DESC_TRANSB: return take(d.transpose_b);
    case CUBLASLT_MATMUL_DESC_EPILOGUE: return take(d.epilogue);
    case CUBLASLT_MATMUL_DESC_BIAS_POINTER: return take(d.bias);
    default: return CUBLAS_STATUS_NOT_SUPPORTED;
  }
}
cublasStatus_t cublasLtMatrixLayoutCreate(cublasLtMatrixLayout_t* layout, cudaDataType type,
                                          std::uint64_t rows, std::uint64_t columns,
                                          std::int64_t stride) {
  *layout = reinterpret_cast<cublasLtMatrixLayout_t>(new Layout{
      type, static_cast<std::int64_t>(rows), static_cast<std::int64_t>(columns), stride});
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatrixLayoutDestroy(cublasLtMatrixLayout_t layout) {
  delete &of<Layout>(layout);
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulPreferenceCreate(cublasLtMatmulPreference_t* preference) {
  *preference = reinterpret_cast<cublasLtMatmulPreference_t>(new Preference);
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulPreferenceDestroy(cublasLtMatmulPreference_t preference) {
  delete &of<Preference>(preference);
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulPreferenceSetAttribute(cublasLtMatmulPreference_t preference,
                                                    cublasLtMatmulPreferenceAttributes_t attribute,
                                                    const void* buffer, std::size_t bytes) {
  auto& p = of<Preference>(preference);
  if (attribute == CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES) {
    std::memcpy(&p.workspace, buffer, bytes);
  } else if (attribute == CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK) {
    std::memcpy(&p.reduction, buffer, bytes);
  }
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulAlgoGetHeuristic(cublasLtHandle_t, cublasLtMatmulDesc_t description,
                                              cublasLtMatrixLayout_t, cublasLtMatrixLayout_t,
                                              cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t,
                                              cublasLtMatmulPreference_t preference, int wanted,
                                              cublasLtMatmulHeuristicResult_t* results,
                                              int* found) {
  *found = 0;
  const auto& p = of<Preference>(preference);
  if (p.workspace < kWorkspace) return CUBLAS_STATUS_NOT_SUPPORTED;
  std::vector<Sum> sums;
  if ((p.reduction & CUBLASLT_REDUCTION_SCHEME_OUTPUT_TYPE) != 0 &&
      of<Layout>(c).type == CUDA_R_16BF) {
    sums.push_back(Sum::of_rounded_halves);
  }
  if (setting("FORESHARD_HOST_CUBLAS_SLOW", 0) != 0) {
    sums.push_back(Sum::backwards_and_slow);
    sums.push_back(Sum::failing);
  }
  sums.push_back(Sum::in_order);
  for (const Sum sum : sums) {
    if (*found == wanted) break;
    cublasLtMatmulHeuristicResult_t& result = results[(*found)++];
    result = {};
    result.workspaceSize = kWorkspace;
    const Algorithm algorithm{sum, alignment(of<Description>(description).bias)};
    std::memcpy(&result.algo, &algorithm, sizeof algorithm);
  }
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmul(cublasLtHandle_t, cublasLtMatmulDesc_t description, const void* alpha,
                              const void* a, cublasLtMatrixLayout_t a_layout, const void* b,
                              cublasLtMatrixLayout_t b_layout, const void* beta, const void* c,
                              cublasLtMatrixLayout_t c_layout, void* d, cublasLtMatrixLayout_t,
                              const cublasLtMatmulAlgo_t* chosen, void* workspace,
                              std::size_t workspace_bytes, cudaStream_t stream) {
  Algorithm algorithm{};
  std::memcpy(&algorithm, chosen, sizeof algorithm);
  if (workspace_bytes < kWorkspace || algorithm.sum == Sum::failing ||
      alignment(of<Description>(description).bias) < algorithm.bias_alignment) {
    return CUBLAS_STATUS_INVALID_VALUE;
  }
  const Task task{of<Description>(description),
                  of<Layout>(a_layout),
                  of<Layout>(b_layout),
                  of<Layout>(c_layout),
                  a,
                  b,
                  c,
                  d,
                  *static_cast<const float*>(alpha),
                  *static_cast<const float*>(beta),
                  workspace,
                  algorithm.sum};
  const cudaError_t error = issue("cudaLaunchKernelExC", stream, {Work::Kind::kernel, "_Z4gemmv"},
                                  [task] { multiply(task); });
  return error == cudaSuccess ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_EXECUTION_FAILED;
}

}  // extern "C"
