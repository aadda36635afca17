// Copies between parameters and collective buffers against a brute-force model: the whole parameter
// cut by the rule of each dimension, rank by rank and element by element.
#include "tests/executor/cpu/kernel_fixture.hpp"

namespace foreshard::executor {
namespace {

struct Parameter2d {
  std::int64_t rows, columns;
  int shard_dim;
};

UnitLayout layout_of(const std::vector<Parameter2d>& parameters, std::int64_t ranks) {
  UnitLayout unit;
  for (const auto& [rows, columns, dim] : parameters) {
    ParameterShard p;
    p.rows = rows;
    p.columns = columns;
    p.shard_dim = dim;
    p.padded = dim == 0 ? ceil_divide(rows, ranks) * columns : rows * columns / ranks;
    p.offset = unit.padded;
    unit.padded += p.padded;
    unit.numel += rows * columns;
    unit.parameters.push_back(p);
  }
  return unit;
}

// Element e of rank r's padded shard of a whole parameter; 0 in the padding.
double shard_element(const ParameterShard& p, std::int64_t ranks, const Values& whole,
                     std::int64_t r, std::int64_t e) {
  const std::int64_t width = p.shard_dim == 0 ? p.columns : p.columns / ranks;
  const std::int64_t height = p.shard_dim == 0 ? p.padded / p.columns : p.rows;
  const std::int64_t row = e / width + (p.shard_dim == 0 ? r * height : 0);
  const std::int64_t column = e % width + (p.shard_dim == 1 ? r * width : 0);
  return row < p.rows ? whole[static_cast<std::size_t>(row * p.columns + column)] : 0;
}

Values slice_of(const UnitLayout& unit, std::int64_t ranks, const std::vector<Values>& wholes,
                std::int64_t r) {
  Values slice;
  for (std::size_t i = 0; i < wholes.size(); ++i) {
    const ParameterShard& p = unit.parameters[i];
    for (std::int64_t e = 0; e < p.padded; ++e)
      slice.push_back(shard_element(p, ranks, wholes[i], r, e));
  }
  return slice;
}

// Divides, does not divide, fewer rows than ranks (empty shards), vectors, columns.
const std::vector<Parameter2d> kParameters = {
    {8, 5, 0}, {7, 3, 0}, {2, 6, 0}, {9, 1, 0}, {5, 12, 1}};
// More than one thread's share, cut anywhere; a single element; more ranks than rows.
const std::vector<Parameter2d> kLongParameters = {
    {1, 1, 0}, {701, 101, 0}, {2, 40'001, 0}, {1, 3, 0}, {3, 23'000, 0}};

struct Cut {
  std::int64_t ranks;
  std::vector<Parameter2d> parameters;
};
const std::vector<Cut> kCuts = {
    {1, kParameters}, {2, kParameters}, {3, kParameters}, {4, kParameters}, {2, kLongParameters}};

class ShardingKernels : public KernelTest {
 protected:
  // x[A,B,C] as [B,A,C].
  static Tensor transposed(DType type, const Tensor& x, std::int64_t A, std::int64_t B,
                           std::int64_t C) {
    return run_all({{Operator::transpose, type, type, type, {A, B, C}},
                    {x},
                    {Tensor::unwritten(type, A * B * C)}})[0];
  }
};

TEST_P(ShardingKernels, TransposeExchangesTheFirstTwoDimensions) {
  const Tensor x = Tensor::of(DType::fp32, {0, 1, 10, 11, 20, 21, 100, 101, 110, 111, 120, 121});
  EXPECT_EQ(transposed(DType::fp32, x, 2, 3, 2).values(),
            Values({0, 1, 100, 101, 10, 11, 110, 111, 20, 21, 120, 121}));
}

TEST_P(ShardingKernels, GatherInAndOut) {
  for (const DType type : {DType::fp32, DType::bf16}) {
    for (const auto& [ranks, parameters] : kCuts) {
      const UnitLayout unit = layout_of(parameters, ranks);
      std::vector<Values> wholes;
      for (const auto& p : parameters) {
        wholes.push_back(
            rounded(type, random_values(p.rows * p.columns, static_cast<unsigned>(wholes.size()))));
      }
      Tensor gathered = Tensor::unwritten(type, ranks * unit.padded);
      for (std::int64_t r = 0; r < ranks; ++r) {
        const Values slice = slice_of(unit, ranks, wholes, r);
        const CostKey key{Operator::all_gather_copy_in, type, type, type, {unit.padded, ranks}};
        Launch from_flat{
            key, {Tensor::of(type, slice)}, {gathered}, static_cast<std::int32_t>(r), unit};
        Launch from_shards = from_flat;
        from_shards.reads.clear();
        for (const ParameterShard& p : unit.parameters) {
          from_shards.reads.push_back(Tensor::of(
              type, Values(slice.begin() + p.offset, slice.begin() + p.offset + p.padded)));
        }
        const Tensor by_flat = run_all(from_flat)[0];
        gathered = run_all(from_shards)[0];
        EXPECT_TRUE(by_flat.bytes == gathered.bytes);
      }
      Launch out{{Operator::all_gather_copy_out, type, type, type, {unit.padded, ranks}},
                 {gathered},
                 {},
                 0,
                 unit};
      for (const ParameterShard& p : unit.parameters)
        out.writes.push_back(Tensor::unwritten(type, ranks * p.padded));
      const auto done = run_all(out);
      for (std::size_t i = 0; i < wholes.size(); ++i) {
        const ParameterShard& p = unit.parameters[i];
        const Tensor whole = p.shard_dim == 0
                                 ? done[i]
                                 : transposed(type, done[i], ranks, p.rows, p.columns / ranks);
        Values padded = wholes[i];
        padded.resize(whole.size());
        EXPECT_EQ(whole.values(), padded) << "parameter " << i << " over " << ranks;
      }
    }
  }
}

// Four ranks shard, groups of two keep halves of what is stored after forward.
TEST_P(ShardingKernels, KeptSlicesGatherAgain) {
  constexpr DType kType = DType::bf16;
  constexpr std::int64_t kRanks = 4, kKept = 2;
  const UnitLayout unit = layout_of(kLongParameters, kRanks);
  std::vector<Tensor> stored;
  for (const ParameterShard& p : unit.parameters) {
    stored.push_back(
        Tensor::of(kType, random_values(kRanks * p.padded, static_cast<unsigned>(stored.size()))));
  }
  const std::int64_t slice = unit.padded * kRanks / kKept;
  Tensor gathered = Tensor::unwritten(kType, slice * kKept);
  for (std::int32_t index = 0; index < kKept; ++index) {
    Launch in{{Operator::all_gather_copy_in, kType, kType, kType, {slice, kKept}},
              {},
              {gathered},
              index,
              unit};
    for (std::size_t i = 0; i < stored.size(); ++i) {
      const std::int64_t n = unit.parameters[i].padded * kRanks / kKept;
      in.reads.push_back(run_all({{Operator::copy_slice, kType, kType, kType, {n}},
                                  {stored[i]},
                                  {Tensor::unwritten(kType, n)},
                                  index})[0]);
    }
    gathered = run_all(in)[0];
  }
  Launch out{{Operator::all_gather_copy_out, kType, kType, kType, {slice, kKept}},
             {gathered},
             {},
             0,
             unit};
  for (const Tensor& t : stored)
    out.writes.push_back(Tensor::unwritten(kType, static_cast<std::int64_t>(t.size())));
  const auto done = run_all(out);
  for (std::size_t i = 0; i < stored.size(); ++i) EXPECT_TRUE(done[i].bytes == stored[i].bytes);
}

// Into one flat buffer, or, of a rank alone, into one parameter each.
TEST_P(ShardingKernels, ShardCastJoinsShards) {
  const UnitLayout unit = layout_of(kLongParameters, 2);
  Launch launch{{Operator::shard_cast, DType::bf16, DType::fp32, DType::bf16, {unit.padded}},
                {},
                {Tensor::unwritten(DType::bf16, unit.padded)},
                0,
                unit};
  Launch into_parameters = launch;
  into_parameters.writes.clear();
  Values joined;
  std::vector<Values> parameters;
  for (const ParameterShard& p : unit.parameters) {
    const Values shard = random_values(p.padded, static_cast<unsigned>(joined.size()));
    launch.reads.push_back(Tensor::of(DType::fp32, shard));
    into_parameters.writes.push_back(Tensor::unwritten(DType::bf16, p.padded));
    parameters.push_back(rounded(DType::bf16, shard));
    joined.insert(joined.end(), shard.begin(), shard.end());
  }
  into_parameters.reads = launch.reads;
  EXPECT_EQ(run_all(launch)[0].values(), rounded(DType::bf16, joined));
  const std::vector<Tensor> cast = run_all(into_parameters);
  for (std::size_t i = 0; i < parameters.size(); ++i) EXPECT_EQ(cast[i].values(), parameters[i]);
}

TEST_P(ShardingKernels, ReduceScatterCopyInPadsAndCasts) {
  for (const DType from : {DType::fp32, DType::bf16}) {
    for (const DType to : {DType::fp32, DType::bf16}) {
      for (const auto& [ranks, parameters] : kCuts) {
        const UnitLayout unit = layout_of(parameters, ranks);
        Launch launch{{Operator::reduce_scatter_copy_in, to, from, to, {unit.padded, ranks}},
                      {},
                      {Tensor::unwritten(to, ranks * unit.padded)},
                      0,
                      unit};
        std::vector<Values> wholes;
        for (const auto& p : parameters) {
          wholes.push_back(rounded(
              from, random_values(p.rows * p.columns, static_cast<unsigned>(wholes.size()))));
          const Tensor gradient = Tensor::of(from, wholes.back());
          launch.reads.push_back(
              p.shard_dim == 0 ? gradient
                               : transposed(from, gradient, p.rows, ranks, p.columns / ranks));
        }
        Values expected;
        for (std::int64_t r = 0; r < ranks; ++r) {
          const Values slice = slice_of(unit, ranks, wholes, r);
          expected.insert(expected.end(), slice.begin(), slice.end());
        }
        EXPECT_EQ(run_all(launch)[0].values(), rounded(to, expected));
      }
    }
  }
}

FORESHARD_KERNEL_SUITE(ShardingKernels);

}  // namespace
}  // namespace foreshard::executor
