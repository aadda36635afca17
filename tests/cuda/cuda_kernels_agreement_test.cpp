// Kernels of CUDA against those of the CPU, at sizes that take several blocks, tiles and batches.
// Bits are equal where both do the same arithmetic: the CPU's plain inner loops and the emulation
// neither fuse multiplication and addition.
#include "tests/executor/cpu/kernel_fixture.hpp"
#include "tests/executor/cpu/kernels_in_use.hpp"
#include "tests/executor/cpu/run_on_cpu.hpp"

namespace foreshard::executor {
namespace {

class CudaKernels : public KernelTest {
 protected:
  static void expect_same_bits(const Launch& launch, std::size_t writes) {
    const KernelsInUse plain{*available_simd_kernels().back()};
    const std::vector<Tensor> expected = run_on_cpu(launch), got = run_all(launch);
    for (std::size_t i = 0; i < writes; ++i) {
      EXPECT_TRUE(got[i].bytes == expected[i].bytes) << text(launch.key) << ", write " << i;
    }
  }
};

// Many parameters of every size, some of which leave the last rank nothing.
UnitLayout large_unit(std::int64_t ranks) {
  UnitLayout unit;
  for (std::int64_t i = 0; i < 150; ++i) {
    ParameterShard p;
    p.rows = i == 70 ? 9001 : i % 7 + 1;
    p.columns = i == 70 ? 3 : i % 19 + 1;
    p.padded = ceil_divide(p.rows, ranks) * p.columns;
    p.local = i % 5 == 3 ? 0 : p.padded - i % 2;
    p.offset = unit.padded;
    unit.padded += p.padded;
    unit.parameters.push_back(p);
  }
  return unit;
}

Tensor random_tensor(DType type, std::int64_t n, std::size_t seed) {
  return Tensor::of(type, random_values(n, static_cast<unsigned>(seed)));
}

TEST_P(CudaKernels, CopyManyArraysAtOnce) {
  constexpr std::int64_t kRanks = 3;
  const UnitLayout unit = large_unit(kRanks);
  for (const DType from : kTypes) {
    for (const DType to : kTypes) {
      Launch cast{{Operator::shard_cast, to, from, to, {unit.padded}},
                  {},
                  {Tensor::unwritten(to, unit.padded)}};
      Launch in{{Operator::reduce_scatter_copy_in, to, from, to, {unit.padded, kRanks}},
                {},
                {Tensor::unwritten(to, unit.padded * kRanks)},
                0,
                unit};
      Launch cast_each = cast;
      cast_each.writes.clear();
      for (const ParameterShard& p : unit.parameters) {
        cast.reads.push_back(random_tensor(from, p.local, cast.reads.size()));
        cast_each.writes.push_back(Tensor::unwritten(to, p.local));
        in.reads.push_back(random_tensor(from, p.rows * p.columns, in.reads.size()));
      }
      cast_each.reads = cast.reads;
      expect_same_bits(cast, 1);
      expect_same_bits(cast_each, cast_each.writes.size());
      expect_same_bits(in, 1);
    }
    Launch out{{Operator::all_gather_copy_out, from, from, from, {unit.padded, kRanks}},
               {random_tensor(from, unit.padded * kRanks, 1)},
               {}};
    for (const ParameterShard& p : unit.parameters) {
      out.writes.push_back(Tensor::unwritten(from, p.padded * kRanks));
    }
    expect_same_bits(out, out.writes.size());
    for (const std::int64_t C : {3, 300, 5000}) {
      expect_same_bits({{Operator::transpose, from, from, from, {5, 37, C}},
                        {random_tensor(from, 5 * 37 * C, 2)},
                        {Tensor::unwritten(from, 5 * 37 * C)}},
                       1);
    }
  }
}

TEST_P(CudaKernels, UpdateManyShardsAtOnce) {
  const UnitLayout unit = large_unit(2);
  const KernelScalars scalars{.lr = 1e-2, .beta2 = 0.99, .weight_decay = 0.1, .optimizer_step = 3};
  const std::size_t count = unit.parameters.size();
  for (const DType gradient : kTypes) {
    for (const DType parameter : kTypes) {
      Launch sgd{{Operator::sgd, parameter, gradient, DType::fp32, {unit.padded}},
                 {random_tensor(gradient, unit.padded, 1), Tensor::of(DType::fp64, {9.0, 0.7})},
                 {},
                 0,
                 unit,
                 scalars};
      for (const ParameterShard& p : unit.parameters) {
        sgd.writes.push_back(random_tensor(parameter, p.padded, sgd.writes.size()));
      }
      expect_same_bits(sgd, count);
      for (const DType state : kTypes) {
        Launch adamw = sgd;
        adamw.key.op = Operator::adamw;
        adamw.key.dtype3 = state;
        for (std::size_t i = 0; i < 2 * count; ++i) {
          Values values = random_values(unit.parameters[i % count].local, static_cast<unsigned>(i));
          for (double& x : values) x = i < count ? x : x * x;
          adamw.writes.push_back(Tensor::of(state, values));
        }
        expect_same_bits(adamw, 3 * count);
      }
    }
  }
}

// Several tiles of positions, the last not full, and a token that is everywhere.
TEST_P(CudaKernels, EmbeddingAddsInTheOrderOfPositions) {
  constexpr std::int64_t T = 7001, V = 700, D = 44;
  Values tokens;
  for (std::int64_t t = 0; t < T; ++t) {
    tokens.push_back(static_cast<double>(t % 5 < 2 ? 699 : t * t * 31 % 650));
  }
  const Tensor token = Tensor::of(DType::int32, tokens);
  for (const DType type : kTypes) {
    for (const bool accumulate : {false, true}) {
      const CostKey key{Operator::embedding_backward, type, type, type, {T, V, D, accumulate}};
      expect_same_bits(
          {key,
           {random_tensor(type, T * D, 1), token},
           {accumulate ? random_tensor(type, V * D, 2) : Tensor::unwritten(type, V * D),
            unwritten_scratch(key)}},
          1);
    }
  }
}

TEST_P(CudaKernels, RopeOfLongHeads) {
  constexpr std::int64_t S = 5, d = 600;
  Launch table{{Operator::rope_table, DType::fp32, DType::fp32, DType::fp32, {S, d}},
               {},
               {Tensor::unwritten(DType::fp32, S * d)}};
  expect_same_bits(table, 1);
  const Tensor angles = run_on_cpu(table)[0];
  for (const DType type : kTypes) {
    for (const Operator op : {Operator::rope, Operator::rope_backward}) {
      expect_same_bits(
          {{op, type, type, type, {2, S, 3, d}}, {angles}, {random_tensor(type, 2 * S * 3 * d, 1)}},
          1);
    }
  }
}

TEST_P(CudaKernels, ClipAddsUnitsInTheirOrder) {
  Values squares = random_values(77, 1);
  for (double& x : squares) x *= x;
  Launch clip{{Operator::clip_coefficient, DType::fp64, DType::fp64, DType::fp64, {77}},
              {Tensor::of(DType::fp64, squares)},
              {Tensor::unwritten(DType::fp64, 2)}};
  clip.scalars.clip_grad_norm = 0.3;
  expect_same_bits(clip, 1);
}

// More elements than the most blocks take at once.
TEST_P(CudaKernels, NormOfALongGradient) {
  constexpr std::int64_t n = 2048 * 4096 + 5001;
  Tensor gradient = Tensor::zeros(DType::bf16, n);
  double squares = 0;
  for (std::size_t i = 0; i < n; i += 997) {
    gradient.set(i, static_cast<double>(i % 64) + 1);
    squares += gradient.at(i) * gradient.at(i);
  }
  const Launch norm{{Operator::gradient_norm, DType::bf16, DType::bf16, DType::bf16, {n}},
                    {gradient},
                    {Tensor::zeros(DType::fp64, 1)}};
  EXPECT_EQ(run(norm)[0].at(0), squares);
}

// Sums in another order than the CPU's: 16 rows of each range, all packs of a thread, or rows wider
// than a block's registers. In bf16 a sum may be rounded to the neighbour.
TEST_P(CudaKernels, NormsOfManyRowsAndWideOnes) {
  for (const auto& [type, bound] : {std::pair(DType::fp32, 2e-6), {DType::bf16, 0x1p-8}}) {
    for (const auto& [T, D] :
         {std::pair{2111L, 20L}, {300L, 264L}, {150L, 2045L}, {133L, 18001L}}) {
      const bool is_wide = D > 10000;
      const CostKey key{Operator::rms_norm_backward, type, type, type, {T, D, 1}};
      const Tensor x = random_tensor(type, T * D, 1), w = random_tensor(type, D, 2);
      const Launch forward{{Operator::rms_norm, type, type, type, {T, D}},
                           {x, w},
                           {Tensor::unwritten(type, T * D), Tensor::unwritten(DType::fp32, T)}};
      const Launch backward{
          key,
          {random_tensor(type, T * D, 3), x, w, run_on_cpu(forward)[1]},
          {random_tensor(type, T * D, 4), Tensor::unwritten(type, D), unwritten_scratch(key)}};
      for (const Launch& launch : {forward, backward}) {
        const auto got = is_wide ? run(launch) : run_all(launch), expected = run_on_cpu(launch);
        for (std::size_t i = 0; i < 2; ++i) {
          const auto width = i == 0 ? static_cast<std::size_t>(D) : got[i].size();
          EXPECT_LT(row_error(got[i].values(), expected[i].values(), width), bound)
              << text(launch.key) << ", write " << i;
        }
      }
    }
  }
}

TEST_P(CudaKernels, LossesOfLongRowsAndManyTokens) {
  for (const auto& [T, V] : {std::pair{3L, 20001L}, {2500L, 8L}}) {
    for (const DType type : kTypes) {
      Values targets;
      for (std::int64_t t = 0; t < T; ++t) targets.push_back(static_cast<double>(t * 7919 % V));
      const Launch forward{{Operator::cross_entropy, type, type, type, {T, V, 2}},
                           {random_tensor(type, T * V, 1), Tensor::of(DType::int32, targets)},
                           {Tensor::unwritten(DType::fp32, T), Tensor::of(DType::fp64, {1})}};
      const auto got = run_all(forward), expected = run_on_cpu(forward);
      EXPECT_LT(row_error(got[0].values(), expected[0].values(), 1), 4e-7);
      EXPECT_NEAR(got[1].at(0) / expected[1].at(0), 1, 1e-7);
      const Launch backward{{Operator::cross_entropy_backward, type, type, type, {T, V, 2}},
                            {forward.reads[1], expected[0]},
                            {forward.reads[0]}};
      const auto width = static_cast<std::size_t>(V);
      EXPECT_LT(row_error(run_all(backward)[0].values(), run_on_cpu(backward)[0].values(), width),
                tolerance(type));
    }
  }
}

TEST_P(CudaKernels, BiasGradientsOfManyTokens) {
  for (const DType type : kTypes) {
    const Launch launch{{Operator::bias_gradient, type, type, type, {1500, 130}},
                        {random_tensor(type, 1500 * 130, 1)},
                        {Tensor::unwritten(type, 130)}};
    EXPECT_LT(relative_error(run_all(launch)[0].values(), run_on_cpu(launch)[0].values()),
              tolerance(type));
  }
}

FORESHARD_KERNEL_SUITE(CudaKernels);

}  // namespace
}  // namespace foreshard::executor
