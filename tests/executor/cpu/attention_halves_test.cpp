// bf16 attention that multiplies bf16 as it is, in pairs or on tiles: where it rounds, and which products tiles make.
#include "tests/executor/cpu/attention_reference.hpp"
#include "tests/executor/cpu/kernels_in_use.hpp"
#include "tests/executor/cpu/software_tiles.hpp"

namespace foreshard::executor {
namespace {

class AttentionOfHalves : public testing::TestWithParam<const SimdKernels*> {
  const KernelsInUse in_use_{*GetParam()};
};
INSTANTIATE_TEST_SUITE_P(Kernels, AttentionOfHalves,
                         testing::Values(&sixteen_lane_pair_kernels(), &software_tile_kernels()),
                         [](const auto& kernels) { return std::string(kernels.param->name); });

// 12, 16, 32 and 96 from either side, heads of odd length, and rows that are neighbours because a head
// has one element.
constexpr AttentionShape kEdges[] = {
    {1, 1, 1, 1, 1},         {1, 13, 1, 1, 2, 3},    {1, 65, 1, 1, 1},       {1, 31, 2, 1, 3},
    {2, 32, 2, 2, 15},       {1, 33, 3, 1, 17},      {1, 95, 2, 2, 31},      {2, 96, 2, 1, 32},
    {1, 97, 1, 1, 33},       {1, 129, 2, 1, 63},     {1, 193, 4, 2, 47},     {1, 130, 1, 1, 161},
    {1, 65, 2, 1, 290},      {1, 129, 2, 1, 15, 2},  {1, 193, 2, 1, 17, 31}, {1, 193, 2, 1, 17, 32},
    {1, 193, 1, 1, 17, 33},  {2, 250, 2, 1, 31, 95}, {1, 250, 1, 1, 31, 96}, {1, 250, 1, 1, 31, 97},
    {1, 300, 1, 1, 33, 130}, {1, 130, 1, 1, 161, 40}};

// Nearly all results are the very numbers of bf16 that come of fp64 arithmetic with the same
// roundings as here: P (in the forward counted from the largest score up to the end of its tile) and
// dS, once each. The few others stem from values so close to the middle between two numbers that fp32
// arithmetic took the other one. Without rounding P and dS a sixth and more would differ.
void expect_roundings(const Tensor& got, const Values& expected, const char* what) {
  const Values values = got.values(), wanted = rounded(got.type, expected);
  std::size_t others = 0;
  for (std::size_t i = 0; i < values.size(); ++i) others += values[i] != wanted[i];
  EXPECT_LE(others, values.size() / 50) << what;
  EXPECT_LT(relative_error(values, expected), 2 * kBf16) << what;
}

TEST_P(AttentionOfHalves, RoundProbabilitiesAndTheirGradientsOnce) {
  constexpr DType kType = DType::bf16;
  for (const AttentionShape& s : kEdges) {
    SCOPED_TRACE(text(s.key(Operator::attention, kType)));
    const AttentionValues x(s, kType);
    const Attended expected = attend(s, x.q, x.k, x.v, x.dout, to_bf16_and_back);
    const Launch forward = forward_launch(s, kType, x.q, x.k, x.v);
    const auto done = run(forward);
    expect_roundings(done[0], expected.out, "out");
    EXPECT_LT(relative_error(done[1].values(), expected.lse), kFp32);
    const auto gradients = run(backward_launch(s, kType, forward, done, x.dout));
    expect_roundings(gradients[0], expected.dq, "dq");
    expect_roundings(gradients[1], expected.dk, "dk");
    expect_roundings(gradients[2], expected.dv, "dv");
  }
}

TEST_P(AttentionOfHalves, GiveTheSameBitsForAnyNumberOfThreads) {
  constexpr DType kType = DType::bf16;
  for (const AttentionShape& s : kEdges) {
    SCOPED_TRACE(text(s.key(Operator::attention, kType)));
    const AttentionValues x(s, kType);
    const Launch forward = forward_launch(s, kType, x.q, x.k, x.v);
    const auto done = run(forward, 1), done_by_four = run(forward, 4);
    EXPECT_TRUE(done[0].bytes == done_by_four[0].bytes);
    const Launch backward = backward_launch(s, kType, forward, done, x.dout);
    const auto one_pass = run(backward, 1), two_passes = run(backward, 16);
    for (std::size_t i = 0; i < 3; ++i) EXPECT_TRUE(one_pass[i].bytes == two_passes[i].bytes);
  }
}

// Every product is made on tiles, and of the scores nobody sees no more than the blocks at the edges: of
// 64 x 64 scores over heads of 32, three blocks of 32 x 32, each by four tile products; of 128 x 128 with a window
// of 32, seven of the ten below the diagonal.
TEST(AttentionTiles, MakeEveryProduct) {
  const KernelsInUse in_use(software_tile_kernels());
  const SoftwareTiles& tiles = SoftwareTiles::of_this_thread();
  const auto dots_of = [&](const Launch& launch) {
    const std::int64_t before = tiles.dots();
    run(launch);
    EXPECT_FALSE(tiles.is_configured());
    return tiles.dots() - before;
  };
  for (const auto& [s, blocks] : {std::pair{AttentionShape{1, 64, 1, 1, 32}, std::int64_t{3}},
                                  {AttentionShape{1, 128, 1, 1, 32, 32}, std::int64_t{7}}}) {
    for (const DType type : {DType::fp32, DType::bf16}) {
      const std::int64_t product = type == DType::bf16 ? blocks * 4 : 0;
      const AttentionValues x(s, type);
      const Launch forward = forward_launch(s, type, x.q, x.k, x.v);
      EXPECT_EQ(dots_of(forward), 2 * product);
      EXPECT_EQ(dots_of(backward_launch(s, type, forward, run(forward), x.dout)), 5 * product);
    }
  }
}

}  // namespace
}  // namespace foreshard::executor
