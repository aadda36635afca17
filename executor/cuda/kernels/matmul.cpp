#include "executor/cuda/kernels/matmul.hpp"

#include <algorithm>
#include <bit>
#include <mutex>
#include <stdexcept>
#include <string>
#include <tuple>

#include "executor/cuda/kernels/check.hpp"
#include "executor/cuda/kernels/kernels.hpp"
#include "executor/cuda/kernels/quickest.hpp"

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

// For what is issued on the stream while this lives; nullptr where there is not enough.
struct StreamMemory {
  StreamMemory(std::int64_t bytes, cudaStream_t of) : stream(of) {
    if (bytes == 0) return;
    if (cudaMallocAsync(&memory, static_cast<std::size_t>(bytes), stream) == cudaSuccess) return;
    memory = nullptr;
    static_cast<void>(cudaGetLastError());
  }
  ~StreamMemory() {
    if (memory != nullptr) static_cast<void>(cudaFreeAsync(memory, stream));
  }
  StreamMemory(const StreamMemory&) = delete;
  StreamMemory& operator=(const StreamMemory&) = delete;

  void* memory = nullptr;
  cudaStream_t stream;
};

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
        algorithm(other.algorithm),
        is_settled(other.is_settled) {}

  cublasLtMatmulDesc_t description = nullptr;
  Layout a, b, c;
  cublasLtMatmulAlgo_t algorithm{};
  bool is_settled = false;  // or to be tuned when nothing is captured
};

MatrixProducts::MatrixProducts(RunControl& run, const KernelChoices& choices)
    : run_(run), choices_(choices) {
  check_product(cublasLtCreate(&handle_), "cublasLtCreate");
}

MatrixProducts::~MatrixProducts() {
  plans_.clear();
  static_cast<void>(cublasLtDestroy(handle_));
}

MatrixProducts::Shape MatrixProducts::shape_of(const MatrixProduct& p,
                                               std::size_t workspace_bytes) {
  std::int64_t alignments = 0;  // each up to 256
  for (const void* operand : {p.a, p.b, p.bias, static_cast<const void*>(p.c)}) {
    alignments = alignments << 9 | alignment(operand);
  }
  return {static_cast<std::int64_t>(p.type),
          p.m,
          p.n,
          p.k,
          p.transposes_a + 2 * p.transposes_b + 4 * p.accumulates,
          p.bias != nullptr,
          static_cast<std::int64_t>(workspace_bytes),
          alignments};
}

std::vector<cublasLtMatmulHeuristicResult_t> MatrixProducts::candidates(
    const MatrixProduct& p, const Plan& plan, std::size_t workspace_bytes) {
  constexpr int kTuned = 8;
  cublasLtMatmulPreference_t preference = nullptr;
  check_product(cublasLtMatmulPreferenceCreate(&preference), "cublasLtMatmulPreferenceCreate");
  const auto prefer = [preference](cublasLtMatmulPreferenceAttributes_t attribute,
                                   const auto& value) {
    check_product(cublasLtMatmulPreferenceSetAttribute(preference, attribute, &value, sizeof value),
                  "cublasLtMatmulPreferenceSetAttribute");
  };
  prefer(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, static_cast<std::uint64_t>(workspace_bytes));
  prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, alignment(p.a));
  prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, alignment(p.b));
  prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, alignment(p.c));
  prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, alignment(p.c));
  // Parts of a sum that is cut (split-K) are never rounded to the type of the result.
  prefer(CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK,
         static_cast<std::uint32_t>(CUBLASLT_REDUCTION_SCHEME_NONE |
                                    CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE));
  std::vector<cublasLtMatmulHeuristicResult_t> found(choices_.tunes_products ? kTuned : 1);
  int count = 0;
  const cublasStatus_t status = cublasLtMatmulAlgoGetHeuristic(
      handle_, plan.description, plan.a.get(), plan.b.get(), plan.c.get(), plan.c.get(), preference,
      static_cast<int>(found.size()), found.data(), &count);
  static_cast<void>(cublasLtMatmulPreferenceDestroy(preference));
  check_product(status, "cublasLtMatmulAlgoGetHeuristic");
  found.resize(static_cast<std::size_t>(count));
  std::erase_if(found, [&](const auto& kernel) { return kernel.workspaceSize > workspace_bytes; });
  if (found.empty()) {
    throw std::runtime_error("cuBLAS has no kernel for a product of " + std::to_string(p.m) +
                             " x " + std::to_string(p.n) + " x " + std::to_string(p.k) + " in " +
                             std::to_string(workspace_bytes) + " bytes of workspace");
  }
  return found;
}

MatrixProducts::Plan& MatrixProducts::plan_of(const MatrixProduct& p, const ProductStream& where) {
  const Shape shape = shape_of(p, where.workspace_bytes);
  const auto found = plans_.find(shape);
  if (found != plans_.end() && found->second.is_settled) return found->second;
  Plan& plan = found != plans_.end()
                   ? found->second
                   : plans_.emplace(shape, Plan(p, choices_.matmul_precision)).first->second;
  const auto kernels = candidates(p, plan, where.workspace_bytes);
  plan.algorithm = kernels.front().algo;
  plan.is_settled = !choices_.tunes_products || tune(p, plan, kernels, shape, where);
  return plan;
}

// One choice for all ranks of the process on a GPU.
bool MatrixProducts::tune(const MatrixProduct& p, Plan& plan,
                          std::span<const cublasLtMatmulHeuristicResult_t> kernels,
                          const Shape& shape, const ProductStream& where) {
  static std::mutex mutex;
  static std::map<std::tuple<int, MatmulPrecision, Shape>, cublasLtMatmulAlgo_t> tuned;
  cudaStreamCaptureStatus capture = cudaStreamCaptureStatusNone;
  check(cudaStreamIsCapturing(where.stream, &capture), "cudaStreamIsCapturing");
  if (capture != cudaStreamCaptureStatusNone) return false;
  int gpu = 0;
  check(cudaGetDevice(&gpu), "cudaGetDevice");
  const std::tuple key(gpu, choices_.matmul_precision, shape);
  {
    const std::scoped_lock lock(mutex);
    if (const auto known = tuned.find(key); known != tuned.end()) {
      plan.algorithm = known->second;
      return true;
    }
  }
  // What is added to a result must not be added several times.
  const StreamMemory spare(p.accumulates ? p.m * p.n * item_size(p.type) : 0, where.stream);
  void* const result = p.accumulates ? spare.memory : p.c;
  if (result == nullptr) return true;
  // Other ranks go on meanwhile: what is waited for may need them.
  const std::size_t best = quickest(run_, where.stream, kernels.size(), [&](std::size_t i) {
    return issue(p, plan, kernels[i].algo, result, where) == CUBLAS_STATUS_SUCCESS;
  });
  const std::scoped_lock lock(mutex);
  plan.algorithm = tuned.try_emplace(key, kernels[best].algo).first->second;
  return true;
}

cublasStatus_t MatrixProducts::issue(const MatrixProduct& p, const Plan& plan,
                                     const cublasLtMatmulAlgo_t& algorithm, void* result,
                                     const ProductStream& where) {
  if (p.bias != nullptr) set(plan.description, CUBLASLT_MATMUL_DESC_BIAS_POINTER, p.bias);
  const float one = 1.0F, kept = p.accumulates ? 1.0F : 0.0F;
  return cublasLtMatmul(handle_, plan.description, &one, p.a, plan.a.get(), p.b, plan.b.get(),
                        &kept, p.c, plan.c.get(), result, plan.c.get(), &algorithm, where.workspace,
                        where.workspace_bytes, where.stream);
}

void MatrixProducts::run(const MatrixProduct& p, const ProductStream& where) {
  const Plan& plan = plan_of(p, where);
  check_product(issue(p, plan, plan.algorithm, p.c, where), "cublasLtMatmul");
}

namespace {

void run_product(const CudaLaunch& a, const MatrixProduct& product) {
  const std::span<std::byte> workspace = a.writes.back();
  a.tools.products->run(product, {a.tools.stream, workspace.data(), workspace.size()});
}

}  // namespace

// Our matrices lie by rows, which for cuBLAS is each of them transposed: y' = w x'.
void run_matmul(const CudaLaunch& a) {
  const auto [tokens, outputs, inputs, has_bias, unused, unused2] = a.key.dims;
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
  const auto [tokens, inputs, outputs, accumulates, unused, unused2] = a.key.dims;
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
  const auto [outputs, inputs, tokens, unused, unused2, unused3] = a.key.dims;
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
