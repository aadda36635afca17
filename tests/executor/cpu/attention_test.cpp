#include <stdexcept>

#include "models/program/attention_workspace.hpp"
#include "tests/executor/cpu/attention_reference.hpp"

namespace foreshard::executor {
namespace {

class Attention : public KernelTest {};

// Odd heads, one token, tile edges, several tiles, grouped and multi-query heads, long heads; windows of one
// and two tokens, around the edges of a block of rows, a panel, a tile and two, of the sequence and beyond.
constexpr AttentionShape kAttentionShapes[] = {
    {1, 1, 1, 1, 2},         {2, 33, 4, 2, 10},       {1, 97, 5, 1, 24},
    {1, 200, 2, 2, 64},      {1, 131, 3, 3, 130},     {1, 70, 2, 1, 258},
    {2, 193, 2, 1, 33},      {1, 96, 1, 1, 31},       {1, 200, 2, 1, 8, 1},
    {1, 200, 2, 1, 8, 2},    {1, 97, 3, 1, 6, 11},    {1, 97, 1, 1, 6, 13},
    {1, 131, 2, 2, 64, 31},  {1, 131, 1, 1, 130, 32}, {1, 131, 1, 1, 64, 33},
    {2, 250, 2, 1, 10, 95},  {1, 250, 2, 1, 10, 96},  {1, 250, 1, 1, 10, 97},
    {1, 300, 1, 1, 10, 192}, {1, 300, 2, 1, 10, 193}, {1, 200, 1, 1, 130, 63},
    {1, 70, 1, 1, 258, 5},   {1, 97, 2, 1, 24, 96},   {1, 97, 2, 1, 24, 97},
    {1, 33, 2, 1, 24, 1000}};

// Those of heads that the device under test has kernels for.
std::vector<AttentionShape> attention_shapes() {
  constexpr std::int64_t kLongestOnGpus = 256;
  std::vector<AttentionShape> shapes;
  for (const AttentionShape& s : kAttentionShapes) {
    if (tested_device().kind == DeviceKind::cpu || s.d <= kLongestOnGpus) shapes.push_back(s);
  }
  return shapes;
}

// In units of what is allowed. cuDNN's exponentials and logarithms are the hardware's, of about 2^-22 of their
// argument; what is off in an lse is off in proportion in all of the row's probabilities, which backward rounds to bf16.
double lse_error(const AttentionShape& s, DType type, const Values& got, const Values& expected) {
  if (!is_fused_attention(s.key(Operator::attention, type), tested_device())) {
    return relative_error(got, expected) / kFp32;
  }
  double worst = 0;
  for (std::size_t i = 0; i < got.size(); ++i) {
    worst = std::max(worst, std::abs(got[i] - expected[i]));
  }
  return worst / (kBf16 / 64);
}

double largest(const Values& values) {
  double most = 0;
  for (const double x : values) most = std::max(most, std::abs(x));
  return most;
}

TEST_P(Attention, AgreesWithTheWholeScoreMatrix) {
  for (const DType type : {DType::fp32, DType::bf16}) {
    for (const AttentionShape& s : attention_shapes()) {
      SCOPED_TRACE(text(s.key(Operator::attention, type)));
      const AttentionValues x(s, type);
      const Attended expected = attend(s, x.q, x.k, x.v, x.dout);
      const Launch forward = forward_launch(s, type, x.q, x.k, x.v);
      const auto done = run_all(forward);
      EXPECT_LT(row_error(done[0].values(), expected.out, static_cast<std::size_t>(s.d)),
                3 * tolerance(type));
      EXPECT_LT(lse_error(s, type, done[1].values(), expected.lse), 1);
      const auto gradients = run_all(backward_launch(s, type, forward, done, x.dout));
      const double allowed = (type == DType::bf16 ? 3 : 2) * tolerance(type);  // from a rounded out
      if (s.W ==
          1) {  // a softmax of one score has no gradient, and what rounding leaves has no size
        EXPECT_LT(largest(gradients[0].values()), allowed * largest(expected.dv));
        EXPECT_LT(largest(gradients[1].values()), allowed * largest(expected.dv));
      } else {
        EXPECT_LT(relative_error(gradients[0].values(), expected.dq), allowed);
        EXPECT_LT(relative_error(gradients[1].values(), expected.dk), allowed);
      }
      EXPECT_LT(relative_error(gradients[2].values(), expected.dv), allowed);
    }
  }
}

TEST_P(Attention, GradientsAreFiniteDifferences) {
  const AttentionShape s{1, 9, 4, 2, 6};
  const Values q = random_values(s.queries(), 1), k = random_values(s.keys(), 2),
               v = random_values(s.keys(), 3), dout = random_values(s.queries(), 4);
  const Launch forward = forward_launch(s, DType::fp32, q, k, v);
  const auto gradients = run_all(backward_launch(s, DType::fp32, forward, run_all(forward), dout));
  const auto of_q = [&](const Values& x) { return attend(s, x, k, v).out; };
  const auto of_k = [&](const Values& x) { return attend(s, q, x, v).out; };
  const auto of_v = [&](const Values& x) { return attend(s, q, k, x).out; };
  EXPECT_LT(relative_error(gradients[0].values(), finite_differences(of_q, q, dout)), 2 * kFp32);
  EXPECT_LT(relative_error(gradients[1].values(), finite_differences(of_k, k, dout)), 2 * kFp32);
  EXPECT_LT(relative_error(gradients[2].values(), finite_differences(of_v, v, dout)), 2 * kFp32);
}

// A token that is not seen counts with nothing, whatever it holds.
TEST_P(Attention, DoesNotReadKeysBehindTheWindow) {
  const AttentionShape s{1, 300, 2, 1, 8, 40};
  constexpr std::size_t kFar = 100;  // tokens from here on see none before kFar - 39
  for (const DType type : {DType::fp32, DType::bf16}) {
    AttentionValues x(s, type);
    const auto before = run_all(forward_launch(s, type, x.q, x.k, x.v));
    for (std::size_t i = 0; i < (kFar - 39) * 8; ++i) x.k[i] = x.v[i] = 3 - x.v[i];
    const auto after = run_all(forward_launch(s, type, x.q, x.k, x.v));
    for (std::size_t i = kFar * 16; i < before[0].size(); ++i) {
      ASSERT_EQ(before[0].at(i), after[0].at(i)) << name(type) << ' ' << i;
    }
    bool sees_last = false;
    for (std::size_t i = (kFar - 1) * 16; i < kFar * 16; ++i) {
      sees_last |= before[0].at(i) != after[0].at(i);
    }
    EXPECT_TRUE(sees_last) << name(type);
  }
}

// Scores far apart: the softmax is one key, and nothing overflows.
TEST_P(Attention, SurvivesLargeScores) {
  for (const DType type : {DType::fp32, DType::bf16}) {
    const AttentionShape s{1, 40, 1, 1, 8};
    const Values q(static_cast<std::size_t>(s.queries()), 100.0);
    const Values v = rounded(type, random_values(s.keys(), 1));
    Values k(static_cast<std::size_t>(s.keys()));
    for (std::size_t c = 0; c < 8; ++c) k[3 * 8 + c] = 100.0;
    const auto done = run_all(forward_launch(s, type, q, k, v));
    for (std::size_t t = 3; t < 40; ++t) {
      for (std::size_t c = 0; c < 8; ++c) EXPECT_NEAR(done[0].at(t * 8 + c), v[3 * 8 + c], kFp32);
    }
  }
}

TEST_P(Attention, RefusesHeadsItHasNoRoomFor) {
  const Values one(1026);
  EXPECT_THROW(run(forward_launch({1, 1, 1, 1, 1026}, DType::fp32, one, one, one)),
               std::length_error);
}

// More of the thread's stack than any head takes, filled with `byte`.
__attribute__((noinline)) void fill_stack(int byte) {
  constexpr std::size_t kBytes = 1 << 20;
  char* const stack = static_cast<char*>(__builtin_alloca(kBytes));
  std::memset(stack, byte, kBytes);
  __asm__ volatile("" : : "r"(stack) : "memory");
}

// Tiles are padded, never with what lies about: not what the stack held before, which would be NaN.
TEST_P(Attention, TakesNothingFromTheStack) {
  if (tested_device().kind != DeviceKind::cpu)
    GTEST_SKIP() << "its threads have stacks of their own";
  for (const DType type : {DType::fp32, DType::bf16}) {
    for (const AttentionShape& s : attention_shapes()) {
      SCOPED_TRACE(text(s.key(Operator::attention, type)));
      const AttentionValues x(s, type);
      const Launch forward = forward_launch(s, type, x.q, x.k, x.v);
      const auto after = [](int byte, const Launch& launch) {
        fill_stack(byte);
        return run(launch);
      };
      const auto done = after(0, forward), done_after = after(0xff, forward);
      const Launch backward = backward_launch(s, type, forward, done, x.dout);
      const auto gradients = after(0, backward), gradients_after = after(0xff, backward);
      for (std::size_t i = 0; i < 2; ++i) EXPECT_TRUE(done[i].bytes == done_after[i].bytes);
      for (std::size_t i = 0; i < 3; ++i) {
        EXPECT_TRUE(gradients[i].bytes == gradients_after[i].bytes);
      }
    }
  }
}

// What is written of x[B, S, heads, d], which was unwritten before, and of what lies behind it.
void expect_written(const AttentionShape& s, std::int64_t head, const Tensor& x, const char* what) {
  std::vector<bool> expected(x.size());
  for (const std::size_t i : s.of_head(s.K, 0, head)) expected[i] = true;
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < x.size(); ++i) wrong += std::isnan(x.at(i)) == expected[i];
  EXPECT_EQ(wrong, 0U) << what;
}

// Other threads write the gradients of neighbouring heads at the same time.
TEST_P(Attention, WritesOnlyTheGradientsOfItsHead) {
  const SimdKernels& simd = simd_kernels();
  for (const DType type : {DType::fp32, DType::bf16}) {
    for (const AttentionShape& s :
         {AttentionShape{2, 33, 2, 2, 10}, AttentionShape{1, 97, 2, 2, 33},
          AttentionShape{1, 200, 2, 2, 10, 7}}) {
      const AttentionValues x(s, type);
      const Launch forward = forward_launch(s, type, x.q, x.k, x.v);
      std::vector<Tensor> reads = backward_launch(s, type, forward, run(forward), x.dout).reads;
      for (const bool in_two_passes : {false, true}) {
        constexpr std::int64_t kBehind = 33 * 66;
        Tensor dq = Tensor::unwritten(type, s.queries()),
               delta = Tensor::unwritten(DType::fp32, s.rows());
        Tensor dk = Tensor::unwritten(type, s.keys() + kBehind), dv = dk;
        Tensor dk_sum = Tensor::unwritten(DType::fp32, s.keys() + kBehind), dv_sum = dk_sum;
        const auto floats = [](Tensor& t) { return reinterpret_cast<float*>(t.bytes.data()); };
        AttentionOperands o{s.B, s.S, s.H, s.K, s.d, s.window()};
        o.dout = reads[0].bytes.data(), o.q = reads[1].bytes.data(), o.k = reads[2].bytes.data();
        o.v = reads[3].bytes.data(), o.out = reads[4].bytes.data(), o.lse = floats(reads[5]);
        o.dq = dq.bytes.data(), o.dk = dk.bytes.data(), o.dv = dv.bytes.data();
        o.delta = floats(delta);
        o.dk_sum = type == DType::fp32 ? floats(dk) : floats(dk_sum);
        o.dv_sum = type == DType::fp32 ? floats(dv) : floats(dv_sum);
        const std::size_t t = variant(type);
        const std::int64_t tile = attention_tile(s.d), head = 1;
        const std::int64_t tiles = in_two_passes ? (s.S + tile - 1) / tile : 0;
        if (!in_two_passes) simd.attention_backward[t](o, 0, head);
        for (std::int64_t i = 0; i < tiles; ++i) simd.attention_query_gradients[t](o, 0, head, i);
        for (std::int64_t i = 0; i < tiles; ++i) simd.attention_key_gradients[t](o, 0, head, i);
        expect_written(s, head, dq, "dq");
        expect_written(s, head, dk, "dk");
        expect_written(s, head, dv, "dv");
        if (type == DType::fp32) continue;
        expect_written(s, head, dk_sum, "sums of dk");
        expect_written(s, head, dv_sum, "sums of dv");
      }
    }
  }
}

FORESHARD_KERNEL_SUITE(Attention);

}  // namespace
}  // namespace foreshard::executor
