#include "executor/cuda/kernels/matmul.hpp"

#include <algorithm>
#include <bit>
#include <stdexcept>
#include <string>

#include "executor/cuda/kernels/kernels.hpp"

namespace foreshard::executor::cuda {
namespace {

void check_product(cublasStatus_t status, const char* call) {
  if (status == CUBLAS_STATUS_SUCCESS) return;
  throw std::runtime_error(std::string(call) + ": " + cublasLtGetStatusString(status));
}

template <class Value>
void set(cublasLtMatmulDesc_t description, cublasLtMatmulDescAttributes_t attribute,
         const Value& value) {
  check_product(cublasLtMatmulDescSetAttribute(description, attribute, &value, sizeof value),
                "cublasLtMatmulDescSetAttribute");
}

// What an address is a multiple of, as far as kernels care.
std::uint32_t alignment(const void* pointer) {
  constexpr std::uintptr_t kEnough = 256;
  const auto address = reinterpret_cast<std::uintptr_t>(pointer) | kEnough;
  return std::uint32_t{1} << std::countr_zero(address);
}

cudaDataType_t type_of(DType type) {
  return type == DType::bf16 ? CUDA_R_16BF : CUDA_R_32F;
}

}  // namespace

class Layout {
 public:
  Layout(DType type, std::int64_t rows, std::int64_t columns) {
    check_product(
        cublasLtMatrixLayoutCreate(&layout_, type_of(type), static_cast<std::uint64_t>(rows),
                                   static_cast<std::uint64_t>(columns), rows),
        "cublasLtMatrixLayoutCreate");
  }
  ~Layout() {
    if (layout_ != nullptr) static_cast<void>(cublasLtMatrixLayoutDestroy(layout_));
  }
  Layout(Layout&& other) noexcept : layout_(std::exchange(other.layout_, nullptr)) {}

  cublasLtMatrixLayout_t get() const { return layout_; }

 private:
  cublasLtMatrixLayout_t layout_ = nullptr;
};

struct MatrixProducts::Plan {
  Plan(const MatrixProduct& p, MatmulPrecision precision)
      : a(p.type, p.transposes_a ? p.k : p.m, p.transposes_a ? p.m : p.k),
        b(p.type, p.transposes_b ? p.n : p.k, p.transposes_b ? p.k : p.n),
        c(p.type, p.m, p.n) {
    const bool rounds = p.type == DType::fp32 && precision == MatmulPrecision::high;
    check_product(
        cublasLtMatmulDescCreate(
            &description, rounds ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F, CUDA_R_32F),
        "cublasLtMatmulDescCreate");
    set(description, CUBLASLT_MATMUL_DESC_TRANSA, p.transposes_a ? CUBLAS_OP_T : CUBLAS_OP_N);
    set(description, CUBLASLT_MATMUL_DESC_TRANSB, p.transposes_b ? CUBLAS_OP_T : CUBLAS_OP_N);
    if (p.bias != nullptr) {
      set(description, CUBLASLT_MATMUL_DESC_EPILOGUE, CUBLASLT_EPILOGUE_BIAS);
      set(description, CUBLASLT_MATMUL_DESC_BIAS_POINTER, p.bias);
    }
  }
  ~Plan() {
    if (description != nullptr) static_cast<void>(cublasLtMatmulDescDestroy(description));
  }
  Plan(Plan&& other) noexcept
      : description(std::exchange(other.description, nullptr)),
        a(std::move(other.a)),
        b(std::move(other.b)),
        c(std::move(other.c)),
        algorithm(other.algorithm) {}

  cublasLtMatmulDesc_t description = nullptr;
  Layout a, b, c;
  cublasLtMatmulAlgo_t algorithm{};
};

MatrixProducts::MatrixProducts(MatmulPrecision precision) : precision_(precision) {
  check_product(cublasLtCreate(&handle_), "cublasLtCreate");
}

MatrixProducts::~MatrixProducts() {
  plans_.clear();
  static_cast<void>(cublasLtDestroy(handle_));
}

const MatrixProducts::Plan& MatrixProducts::plan_of(const MatrixProduct& p,
                                                    std::size_t workspace_bytes) {
  const std::uint32_t alignments[] = {alignment(p.a), alignment(p.b), alignment(p.c)};
  const Shape shape{static_cast<std::int64_t>(p.type),
                    p.m,
                    p.n,
                    p.k,
                    p.transposes_a + 2 * p.transposes_b + 4 * p.accumulates,
                    p.bias != nullptr,
                    static_cast<std::int64_t>(workspace_bytes),
                    alignments[0] + (std::int64_t{alignments[1]} << 16),
                    alignments[2]};
  if (const auto found = plans_.find(shape); found != plans_.end()) return found->second;
  Plan plan(p, precision_);
  cublasLtMatmulPreference_t preference = nullptr;
  check_product(cublasLtMatmulPreferenceCreate(&preference), "cublasLtMatmulPreferenceCreate");
  const auto prefer = [preference](cublasLtMatmulPreferenceAttributes_t attribute,
                                   const auto& value) {
    check_product(cublasLtMatmulPreferenceSetAttribute(preference, attribute, &value, sizeof value),
                  "cublasLtMatmulPreferenceSetAttribute");
  };
  prefer(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, static_cast<std::uint64_t>(workspace_bytes));
  prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, alignments[0]);
  prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, alignments[1]);
  prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, alignments[2]);
  prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, alignments[2]);
  cublasLtMatmulHeuristicResult_t best{};
  int found = 0;
  const cublasStatus_t status =
      cublasLtMatmulAlgoGetHeuristic(handle_, plan.description, plan.a.get(), plan.b.get(),
                                     plan.c.get(), plan.c.get(), preference, 1, &best, &found);
  static_cast<void>(cublasLtMatmulPreferenceDestroy(preference));
  check_product(status, "cublasLtMatmulAlgoGetHeuristic");
  if (found == 0 || best.workspaceSize > workspace_bytes) {
    throw std::runtime_error("cuBLAS has no kernel for a product of " + std::to_string(p.m) +
                             " x " + std::to_string(p.n) + " x " + std::to_string(p.k) + " in " +
                             std::to_string(workspace_bytes) + " bytes of workspace");
  }
  plan.algorithm = best.algo;
  return plans_.emplace(shape, std::move(plan)).first->second;
}

void MatrixProducts::run(const MatrixProduct& p, void* workspace, std::size_t workspace_bytes,
                         cudaStream_t stream) {
  const Plan& plan = plan_of(p, workspace_bytes);
  if (p.bias != nullptr) set(plan.description, CUBLASLT_MATMUL_DESC_BIAS_POINTER, p.bias);
  const float one = 1.0F, kept = p.accumulates ? 1.0F : 0.0F;
  check_product(cublasLtMatmul(handle_, plan.description, &one, p.a, plan.a.get(), p.b,
                               plan.b.get(), &kept, p.c, plan.c.get(), p.c, plan.c.get(),
                               &plan.algorithm, workspace, workspace_bytes, stream),
                "cublasLtMatmul");
}

namespace {

void run_product(const CudaLaunch& a, const MatrixProduct& product) {
  const std::span<std::byte> workspace = a.writes.back();
  a.tools.products->run(product, workspace.data(), workspace.size(), a.tools.stream);
}

}  // namespace

// Our matrices lie by rows, which for cuBLAS is each of them transposed: y' = w x'.
void run_matmul(const CudaLaunch& a) {
  const auto [tokens, outputs, inputs, has_bias, unused] = a.key.dims;
  run_product(a, {.type = a.key.dtype,
                  .m = outputs,
                  .n = tokens,
                  .k = inputs,
                  .transposes_a = true,
                  .a = a.reads[1].data(),
                  .b = a.reads[0].data(),
                  .bias = has_bias != 0 ? a.reads[2].data() : nullptr,
                  .c = a.writes[0].data()});
}

// dx' = w' dy'
void run_matmul_input_gradient(const CudaLaunch& a) {
  const auto [tokens, inputs, outputs, accumulates, unused] = a.key.dims;
  run_product(a, {.type = a.key.dtype,
                  .m = inputs,
                  .n = tokens,
                  .k = outputs,
                  .accumulates = accumulates != 0,
                  .a = a.reads[1].data(),
                  .b = a.reads[0].data(),
                  .c = a.writes[0].data()});
}

// dw' = x' dy
void run_matmul_weight_gradient(const CudaLaunch& a) {
  const auto [outputs, inputs, tokens, unused, unused2] = a.key.dims;
  run_product(a, {.type = a.key.dtype,
                  .m = inputs,
                  .n = outputs,
                  .k = tokens,
                  .transposes_b = true,
                  .a = a.reads[1].data(),
                  .b = a.reads[0].data(),
                  .c = a.writes[0].data()});
}

}  // namespace foreshard::executor::cuda
