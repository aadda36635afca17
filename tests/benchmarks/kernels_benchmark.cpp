// The CPU kernels at the sizes of a 14 M parameter Llama: hidden 384, feed-forward 1024, 6 heads of
// 64, vocabulary 4096, one sequence of 512 tokens, one thread; attention also over 2048, with a window of 256
// and without. Products and attention also report
// their arithmetic rate; the names end in the type.
#include <string>
#include <tuple>
#include <vector>

#include <benchmark/benchmark.h>
#include <boost/align/aligned_allocator.hpp>

#include "executor/cpu/kernels.hpp"
#include "executor/cpu/simd/bfloat16.hpp"
#include "tests/benchmarks/linear_layers.hpp"

namespace foreshard::executor {
namespace {

constexpr std::int64_t T = 512, D = 384, F = 1024, V = 4096, H = 6, d = 64;

// As device memory is.
using Bytes = std::vector<std::byte, boost::alignment::aligned_allocator<std::byte, 512>>;

// Operands big enough for every launch, filled so that arithmetic stays finite and normal.
Bytes filled(DType type, std::int64_t n, float value) {
  Bytes bytes(static_cast<std::size_t>(n * item_size(type)));
  for (std::int64_t i = 0; i < n; ++i) {
    const float x = value * (1.0F + static_cast<float>(i % 7) / 8.0F);
    if (type == DType::bf16) {
      reinterpret_cast<BFloat16*>(bytes.data())[i] = to_bfloat16(x);
    } else if (type == DType::fp32) {
      reinterpret_cast<float*>(bytes.data())[i] = x;
    }
  }
  return bytes;
}

void run(benchmark::State& state, const CostKey& key, std::vector<std::int64_t> reads,
         std::vector<std::int64_t> writes, UnitLayout unit = {}) {
  std::vector<Bytes> buffers;
  for (const std::int64_t n : reads) buffers.push_back(filled(key.dtype, n, 0.01F));
  for (const std::int64_t n : writes) buffers.push_back(filled(key.dtype, n, 0.01F));
  // Statistics, tokens, clip factors, scratch and workspaces: zeros serve them all.
  buffers.emplace_back(static_cast<std::size_t>(DeviceTraits{}.matmul_workspace.count +
                                                scratch_bytes(key, DeviceTraits{}).count) +
                       (1 << 22));
  const Bytes& zeros = buffers.back();
  std::vector<std::span<const std::byte>> in;
  std::vector<std::span<std::byte>> out;
  for (std::size_t i = 0; i < buffers.size() - 1; ++i) {
    if (i < reads.size()) {
      in.emplace_back(buffers[i]);
    } else {
      out.emplace_back(buffers[i]);
    }
  }
  Bytes statistics = zeros, more = zeros;
  in.emplace_back(statistics);
  in.emplace_back(statistics);
  const bool is_product = key.op == Operator::matmul || key.op == Operator::matmul_input_gradient ||
                          key.op == Operator::matmul_weight_gradient;
  out.emplace_back(is_product ? std::span<std::byte>(more).first(
                                    static_cast<std::size_t>(DeviceTraits{}.matmul_workspace.count))
                              : std::span<std::byte>(more));
  out.emplace_back(buffers.back());
  if (is_product) out.pop_back();
  KernelScalars scalars;
  scalars.lr = 1e-3;
  WorkerPool workers(1);
  const KernelArguments arguments{{key, in, out, 0, &unit, scalars}, workers};
  for (auto _ : state) {
    cpu_kernels().run(arguments);
    benchmark::ClobberMemory();
  }
  using Counter = benchmark::Counter;
  state.counters["FLOP/s"] = Counter(flops(key), Counter::kIsIterationInvariantRate);
  state.counters["B/s"] = Counter(bytes_moved(key), Counter::kIsIterationInvariantRate);
}

struct Case {
  std::string name;
  Operator op;
  CostDims dims;
  std::vector<std::int64_t> reads, writes;
};

std::vector<Case> cases() {
  std::vector<Case> all;
  for (const LinearProduct& p : linear_products()) {
    const std::int64_t m = p.dims[0], n = p.dims[1], k = p.dims[2];
    all.push_back({p.layer, p.op, p.dims, {m * k, n * k}, {m * n}});
  }
  for (const auto& [name, S, W] :
       {std::tuple{"", T, std::int64_t{0}}, {"2048", 4 * T, 0}, {"2048_window_256", 4 * T, 256}}) {
    const std::int64_t n = S * H * d;
    all.push_back({name, Operator::attention, {1, S, H, H, d, W}, {n, n, n}, {n}});
    all.push_back(
        {name, Operator::attention_backward, {1, S, H, H, d, W}, {n, n, n, n, n}, {n, n, n}});
  }
  all.push_back({"", Operator::rms_norm, {T, D}, {T * D, D}, {T * D}});
  all.push_back({"", Operator::rms_norm_backward, {T, D, 1}, {T * D, T * D, D}, {T * D, D}});
  all.push_back({"", Operator::swiglu, {T, F}, {T * F, T * F}, {T * F}});
  all.push_back({"", Operator::swiglu_backward, {T, F}, {T * F}, {T * F, T * F}});
  all.push_back({"", Operator::add, {T * D}, {T * D}, {T * D}});
  all.push_back({"", Operator::cross_entropy, {T, V, 1}, {T * V}, {}});
  all.push_back({"", Operator::cross_entropy_backward, {T, V, 1}, {}, {T * V}});
  all.push_back({"", Operator::embedding, {T, V, D}, {V * D}, {T * D}});
  all.push_back({"", Operator::embedding_backward, {T, V, D, 0}, {T * D}, {V * D}});
  all.push_back({"", Operator::gradient_norm, {F * D}, {F * D}, {}});
  return all;
}

void run_adamw(benchmark::State& state) {
  UnitLayout unit;
  ParameterShard shard;
  shard.padded = shard.local = unit.padded = F * D;
  unit.parameters.push_back(shard);
  run(state, {Operator::adamw, DType::fp32, DType::fp32, DType::fp32, {F * D}}, {F * D},
      {F * D, F * D, F * D}, unit);
}

const bool kernels_are_registered = [] {
  for (const DType type : {DType::fp32, DType::bf16}) {
    for (const Case& c : cases()) {
      const std::string suffix =
          (c.name.empty() ? "" : "/" + c.name) + "/" + std::string(name(type));
      benchmark::RegisterBenchmark(
          ("kernel/" + std::string(name(c.op)) + suffix).c_str(),
          [c, type](benchmark::State& state) {
            run(state, {c.op, type, type, type, c.dims}, c.reads, c.writes);
          });
    }
  }
  benchmark::RegisterBenchmark("kernel/adamw/fp32", run_adamw);
  return true;
}();

}  // namespace
}  // namespace foreshard::executor
