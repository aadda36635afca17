// The matrix products of kernels_benchmark.cpp by oneDNN and OpenBLAS, where they are installed, on
// one thread: what our kernels are measured against. Machines are loaded and change speed, so rows
// are compared within one run:
//
//   foreshard-benchmarks --benchmark_filter=kernel/matmul --benchmark_enable_random_interleaving=true
#include <array>
#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include <benchmark/benchmark.h>

#include "executor/cpu/simd/bfloat16.hpp"
#include "models/program/operators.hpp"
#include "tests/benchmarks/linear_layers.hpp"

#if defined(FORESHARD_ONEDNN)
#include <omp.h>
#include <oneapi/dnnl/dnnl.hpp>
#endif
#if defined(FORESHARD_OPENBLAS)
#include <cblas.h>
#endif

namespace foreshard::executor {
namespace {

// c[m,n] = a[m,k] b[k,n] of a linear layer's operator, as strides over a[first] and b[second].
struct Strided {
  std::int64_t m, n, k, a_row, a_step, b_step, b_column;
};

Strided strided(const LinearProduct& p) {
  const std::int64_t x = p.dims[0], y = p.dims[1], z = p.dims[2];
  if (p.op == Operator::matmul) return {x, y, z, z, 1, 1, z};
  if (p.op == Operator::matmul_input_gradient) return {x, y, z, z, 1, y, 1};
  return {x, y, z, 1, x, y, 1};
}

template <class T>
std::vector<T> filled(std::int64_t n) {
  std::vector<T> values(static_cast<std::size_t>(n));
  for (std::size_t i = 0; i < values.size(); ++i) {
    const float x = 0.01F * (1.0F + static_cast<float>(i % 7) / 8.0F);
    if constexpr (sizeof(T) == sizeof(float)) {
      values[i] = x;
    } else {
      values[i] = to_bfloat16(x);
    }
  }
  return values;
}

[[maybe_unused]] void count(benchmark::State& state, const Strided& s) {
  state.counters["FLOP/s"] =
      benchmark::Counter(2.0 * static_cast<double>(s.m * s.n) * static_cast<double>(s.k),
                         benchmark::Counter::kIsIterationInvariantRate);
}

#if defined(FORESHARD_OPENBLAS)
void run_openblas(benchmark::State& state, const Strided& s) {
  openblas_set_num_threads(1);
  const auto a = filled<float>(s.m * s.k), b = filled<float>(s.k * s.n);
  std::vector<float> c(static_cast<std::size_t>(s.m * s.n));
  for (auto _ : state) {
    cblas_sgemm(CblasRowMajor, s.a_step == 1 ? CblasNoTrans : CblasTrans,
                s.b_column == 1 ? CblasNoTrans : CblasTrans, static_cast<int>(s.m),
                static_cast<int>(s.n), static_cast<int>(s.k), 1.0F, a.data(),
                static_cast<int>(s.a_step == 1 ? s.a_row : s.a_step), b.data(),
                static_cast<int>(s.b_column == 1 ? s.b_step : s.b_column), 0.0F, c.data(),
                static_cast<int>(s.n));
    benchmark::ClobberMemory();
  }
  count(state, s);
}
#endif

#if defined(FORESHARD_ONEDNN)
template <class T>
void run_onednn(benchmark::State& state, const Strided& s) {
  omp_set_num_threads(1);
  auto a = filled<T>(s.m * s.k), b = filled<T>(s.k * s.n), c = filled<T>(s.m * s.n);
  using dnnl::memory;
  const auto type = sizeof(T) == sizeof(float) ? memory::data_type::f32 : memory::data_type::bf16;
  const dnnl::engine engine(dnnl::engine::kind::cpu, 0);
  dnnl::stream stream(engine);
  const memory::desc left({s.m, s.k}, type, memory::dims{s.a_row, s.a_step});
  const memory::desc right({s.k, s.n}, type, memory::dims{s.b_step, s.b_column});
  const memory::desc result({s.m, s.n}, type, memory::dims{s.n, 1});
#if DNNL_VERSION_MAJOR < 3
  const dnnl::matmul::primitive_desc description({left, right, result}, engine);
#else
  const dnnl::matmul::primitive_desc description(engine, left, right, result);
#endif
  const dnnl::matmul product(description);
  const std::unordered_map<int, memory> operands = {
      {DNNL_ARG_SRC, memory(left, engine, a.data())},
      {DNNL_ARG_WEIGHTS, memory(right, engine, b.data())},
      {DNNL_ARG_DST, memory(result, engine, c.data())}};
  for (auto _ : state) {
    product.execute(stream, operands);
    stream.wait();
    benchmark::ClobberMemory();
  }
  count(state, s);
}
#endif

[[maybe_unused]] const bool library_products_are_registered = [] {
  for (const LinearProduct& p : linear_products()) {
    [[maybe_unused]] const Strided s = strided(p);
    [[maybe_unused]] const std::string name =
        "kernel/" + std::string(foreshard::name(p.op)) + "/" + p.layer + "/";
#if defined(FORESHARD_OPENBLAS)
    benchmark::RegisterBenchmark((name + "fp32/openblas").c_str(), run_openblas, s);
#endif
#if defined(FORESHARD_ONEDNN)
    benchmark::RegisterBenchmark((name + "fp32/onednn").c_str(), run_onednn<float>, s);
    benchmark::RegisterBenchmark((name + "bf16/onednn").c_str(), run_onednn<BFloat16>, s);
#endif
  }
  return true;
}();

}  // namespace
}  // namespace foreshard::executor
