// Attention over what is not finite, as PyTorch 2.11 computes it on the CPU.
#include "tests/executor/cpu/attention_reference.hpp"
#include "tests/executor/cpu/nonfinite.hpp"

namespace foreshard::executor {
namespace {

class NonfiniteAttention : public KernelTest {};

struct Spoilt {
  char spoilt;  // q, k or v
  double value;
  Values results[4];  // out, dq, dk, dv
};

// Four tokens of one head of two, all 0.5 but the first element of the second token's q, k or v.
TEST_P(NonfiniteAttention, OfOneTile) {
  const Spoilt cases[] = {
      {'q',
       kNan,
       {{0.5, 0.5, kNan, kNan, 0.5, 0.5, 0.5, 0.5},
        {0, 0, kNan, kNan, 0, 0, 0, 0},
        {kNan, kNan, kNan, kNan, kNan, kAny, kNan, kAny},
        {kNan, kNan, kNan, kNan, kAny, kAny, kAny, kAny}}},
      {'q',
       kInf,
       {{0.5, 0.5, kNan, kNan, 0.5, 0.5, 0.5, 0.5},
        {0, 0, kNan, kNan, 0, 0, 0, 0},
        {kNan, kNan, kNan, kNan, kNan, kNan, kNan, kNan},
        {kNan, kNan, kNan, kNan, kAny, kAny, kAny, kAny}}},
      {'q',
       -kInf,
       {{0.5, 0.5, 0, 0, 0.5, 0.5, 0.5, 0.5},
        {0, 0, 0, 0, 0, 0, 0, 0},
        {kNan, 0, kNan, 0, kNan, 0, kNan, 0},
        {1.583333, 1.583333, 0.5833333, 0.5833333, 0.5833333, 0.5833333, 0.25, 0.25}}},
      {'k',
       kNan,
       {{kAny, kAny, kNan, kNan, kNan, kNan, kNan, kNan},
        {kNan, kAny, kNan, kNan, kNan, kNan, kNan, kNan},
        {kNan, kNan, kNan, kNan, kNan, kNan, kNan, kNan},
        {kNan, kNan, kNan, kNan, kNan, kNan, kNan, kNan}}},
      {'k',
       kInf,
       {{kAny, kAny, kNan, kNan, kNan, kNan, kNan, kNan},
        {kNan, kAny, kNan, kNan, kNan, kNan, kNan, kNan},
        {kNan, kNan, kNan, kNan, kNan, kNan, kNan, kNan},
        {kNan, kNan, kNan, kNan, kNan, kNan, kNan, kNan}}},
      {'k',
       -kInf,
       {{0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5},
        {kNan, 0, kNan, 0, kNan, 0, kNan, 0},
        {0, 0, 0, 0, 0, 0, 0, 0},
        {2.833333, 2.833333, 0, 0, 0.8333333, 0.8333333, 0.3333333, 0.3333333}}},
      {'v',
       kNan,
       {{kNan, 0.5, kNan, 0.5, kNan, 0.5, kNan, 0.5},
        {kNan, kNan, kNan, kNan, kNan, kNan, kNan, kNan},
        {kNan, kNan, kNan, kNan, kNan, kNan, kNan, kNan},
        {2.083333, 2.083333, 1.083333, 1.083333, 0.5833333, 0.5833333, 0.25, 0.25}}},
      {'v',
       kInf,
       {{kNan, 0.5, kInf, 0.5, kInf, 0.5, kInf, 0.5},
        {kNan, kNan, kNan, kNan, kNan, kNan, kNan, kNan},
        {kNan, kNan, kNan, kNan, kNan, kNan, kNan, kNan},
        {2.083333, 2.083333, 1.083333, 1.083333, 0.5833333, 0.5833333, 0.25, 0.25}}},
      {'v',
       -kInf,
       {{kNan, 0.5, -kInf, 0.5, -kInf, 0.5, -kInf, 0.5},
        {kNan, kNan, kNan, kNan, kNan, kNan, kNan, kNan},
        {kNan, kNan, kNan, kNan, kNan, kNan, kNan, kNan},
        {2.083333, 2.083333, 1.083333, 1.083333, 0.5833333, 0.5833333, 0.25, 0.25}}},
  };
  for (const DType type : kTypes) {
    for (const Spoilt& c : cases) {
      SCOPED_TRACE(std::string(1, c.spoilt) + " " + std::to_string(c.value));
      const auto operand = [&](char letter) {
        Values x(8, 0.5);
        if (letter == c.spoilt) x[2] = c.value;
        return Tensor::of(type, x);
      };
      const CostKey key{Operator::attention, type, type, type, {1, 4, 1, 1, 2}};
      const auto done = run_all({key,
                                 {operand('q'), operand('k'), operand('v')},
                                 {Tensor::unwritten(type, 8), Tensor::unwritten(DType::fp32, 4)}});
      CostKey back = key;
      back.op = Operator::attention_backward;
      const auto gradients = run_all({back,
                                      {Tensor::of(type, Values(8, 1)), operand('q'), operand('k'),
                                       operand('v'), done[0], done[1]},
                                      {Tensor::unwritten(type, 8), Tensor::unwritten(type, 8),
                                       Tensor::unwritten(type, 8), unwritten_scratch(back)}});
      expect_values(done[0], c.results[0], tolerance(type), "out");
      expect_values(gradients[0], c.results[1], 2 * tolerance(type), "dq");
      expect_values(gradients[1], c.results[2], 2 * tolerance(type), "dk");
      expect_values(gradients[2], c.results[3], 2 * tolerance(type), "dv");
    }
  }
}

// Over several tiles: who sees the spoilt key is NaN, tiles before it are as they were.
TEST_P(NonfiniteAttention, OfLaterTiles) {
  constexpr std::int64_t S = 230, d = 24;
  constexpr std::size_t kSpoilt = 130;
  for (const DType type : kTypes) {
    for (const double value : {kNan, kInf}) {
      Values q = random_values(S * d, 1), k = random_values(S * d, 2), v = random_values(S * d, 3);
      for (double& x : q) x = std::abs(x);
      const auto attend = [&] {
        return run_all({{Operator::attention, type, type, type, {1, S, 1, 1, d}},
                        {Tensor::of(type, q), Tensor::of(type, k), Tensor::of(type, v)},
                        {Tensor::unwritten(type, S * d), Tensor::unwritten(DType::fp32, S)}});
      };
      const auto clean = attend();
      k[kSpoilt * d] = value;
      const auto spoilt = attend();
      for (std::size_t i = 0; i < static_cast<std::size_t>(S * d); ++i) {
        if (i / d >= kSpoilt) {
          EXPECT_TRUE(std::isnan(spoilt[0].at(i)));
        } else if (i / d < 96) {
          EXPECT_EQ(spoilt[0].at(i), clean[0].at(i));
        }
      }
    }
  }
}

// One head of one sequence among others that are NaN: padding of its rows and tiles is none of them.
TEST_P(NonfiniteAttention, OfNeighbours) {
  for (const DType type : kTypes) {
    for (const AttentionShape& s :
         {AttentionShape{2, 33, 2, 2, 10}, AttentionShape{2, 97, 2, 2, 31}}) {
      const AttentionValues whole(s, type);
      const auto attend = [&](const AttentionValues& x) {
        const Launch forward = forward_launch(s, type, x.q, x.k, x.v);
        auto results = run_all(forward);
        for (Tensor& t : run_all(backward_launch(s, type, forward, results, x.dout))) {
          results.push_back(std::move(t));
        }
        return results;
      };
      const auto clean = attend(whole);
      for (std::int64_t b = 0; b < 2; ++b) {
        for (std::int64_t h = 0; h < 2; ++h) {
          const std::vector<std::size_t> mine = s.of_head(s.H, b, h);
          AttentionValues alone = whole;
          for (Values* x : {&alone.q, &alone.k, &alone.v, &alone.dout}) {
            Values kept(x->size(), kNan);
            for (const std::size_t i : mine) kept[i] = (*x)[i];
            *x = kept;
          }
          const auto spoilt = attend(alone);
          for (const std::size_t result : {0U, 2U, 3U, 4U}) {
            std::size_t wrong = 0;
            for (const std::size_t i : mine) wrong += spoilt[result].at(i) != clean[result].at(i);
            EXPECT_EQ(wrong, 0U) << "result " << result << " of head " << h;
          }
        }
      }
    }
  }
}

FORESHARD_KERNEL_SUITE(NonfiniteAttention);

}  // namespace
}  // namespace foreshard::executor
