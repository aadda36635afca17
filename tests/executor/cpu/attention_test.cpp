#include <stdexcept>

#include "tests/executor/cpu/kernel_fixture.hpp"

namespace foreshard::executor {
namespace {

struct Shape {
  std::int64_t B, S, H, K, d;
  std::int64_t queries() const { return B * S * H * d; }
  std::int64_t keys() const { return B * S * K * d; }
  std::int64_t rows() const { return B * H * S; }
  CostKey key(Operator op, DType type) const { return {op, type, type, type, {B, S, H, K, d}}; }
};

struct Reference {
  Values out, lse, dq, dk, dv;
};

Values zeros(std::int64_t n) {
  return Values(static_cast<std::size_t>(n));
}

// softmax(q k' / sqrt(d)) v of one query row, and with `dout` its share of the gradients.
void attend_row(const Shape& s, std::size_t d, std::size_t at_q, std::size_t at_lse,
                const std::vector<std::size_t>& keys, const Values& q, const Values& k,
                const Values& v, const Values& dout, Reference& r) {
  const double scale = 1 / std::sqrt(static_cast<double>(s.d));
  const auto dot = [d](const Values& x, std::size_t i, const Values& y, std::size_t j) {
    double total = 0;
    for (std::size_t c = 0; c < d; ++c) total += x[i + c] * y[j + c];
    return total;
  };
  Values p;
  double peak = -1e300, total = 0, delta = 0;
  for (const std::size_t at : keys) p.push_back(dot(q, at_q, k, at) * scale);
  for (const double x : p) peak = std::max(peak, x);
  for (double& x : p) total += x = std::exp(x - peak);
  r.lse[at_lse] = peak + std::log(total);
  for (std::size_t u = 0; u < p.size(); ++u) {
    p[u] /= total;
    for (std::size_t c = 0; c < d; ++c) r.out[at_q + c] += p[u] * v[keys[u] + c];
    if (!dout.empty()) delta += p[u] * dot(dout, at_q, v, keys[u]);
  }
  for (std::size_t u = 0; u < p.size() && !dout.empty(); ++u) {
    const double ds = p[u] * (dot(dout, at_q, v, keys[u]) - delta) * scale;
    for (std::size_t c = 0; c < d; ++c) {
      r.dv[keys[u] + c] += p[u] * dout[at_q + c];
      r.dq[at_q + c] += ds * k[keys[u] + c];
      r.dk[keys[u] + c] += ds * q[at_q + c];
    }
  }
}

Reference attend(const Shape& s, const Values& q, const Values& k, const Values& v,
                 const Values& dout = {}) {
  Reference r{zeros(s.queries()), zeros(s.rows()), zeros(s.queries()), zeros(s.keys()),
              zeros(s.keys())};
  for (std::int64_t b = 0; b < s.B; ++b) {
    for (std::int64_t h = 0; h < s.H; ++h) {
      std::vector<std::size_t> keys;
      for (std::int64_t t = 0; t < s.S; ++t) {
        const std::int64_t kv_head = h / (s.H / s.K);
        keys.push_back(static_cast<std::size_t>(((b * s.S + t) * s.K + kv_head) * s.d));
        attend_row(s, static_cast<std::size_t>(s.d),
                   static_cast<std::size_t>(((b * s.S + t) * s.H + h) * s.d),
                   static_cast<std::size_t>((b * s.H + h) * s.S + t), keys, q, k, v, dout, r);
      }
    }
  }
  return r;
}

Launch forward_launch(const Shape& s, DType type, const Values& q, const Values& k,
                      const Values& v) {
  return {s.key(Operator::attention, type),
          {Tensor::of(type, q), Tensor::of(type, k), Tensor::of(type, v)},
          {Tensor::unwritten(type, s.queries()), Tensor::unwritten(DType::fp32, s.rows())}};
}

Launch backward_launch(const Shape& s, DType type, const Launch& forward,
                       const std::vector<Tensor>& done, const Values& dout) {
  const CostKey key = s.key(Operator::attention_backward, type);
  return {key,
          {Tensor::of(type, dout), forward.reads[0], forward.reads[1], forward.reads[2], done[0],
           done[1]},
          {Tensor::unwritten(type, s.queries()), Tensor::unwritten(type, s.keys()),
           Tensor::unwritten(type, s.keys()), unwritten_scratch(key)}};
}

class Attention : public KernelTest {};

// Odd heads, one token, tile edges, several tiles, grouped and multi-query heads, long heads.
constexpr Shape kShapes[] = {{1, 1, 1, 1, 2},    {2, 33, 4, 2, 10},   {1, 97, 5, 1, 24},
                             {1, 200, 2, 2, 64}, {1, 131, 3, 3, 130}, {1, 70, 2, 1, 258}};

TEST_P(Attention, AgreesWithTheWholeScoreMatrix) {
  for (const DType type : {DType::fp32, DType::bf16}) {
    for (const Shape& s : kShapes) {
      SCOPED_TRACE(text(s.key(Operator::attention, type)));
      const Values q = rounded(type, random_values(s.queries(), 1, 1.5));
      const Values k = rounded(type, random_values(s.keys(), 2, 1.5));
      const Values v = rounded(type, random_values(s.keys(), 3));
      const Values dout = rounded(type, random_values(s.queries(), 4));
      const Reference expected = attend(s, q, k, v, dout);
      const Launch forward = forward_launch(s, type, q, k, v);
      const auto done = run_all(forward);
      EXPECT_LT(row_error(done[0].values(), expected.out, static_cast<std::size_t>(s.d)),
                3 * tolerance(type));
      EXPECT_LT(relative_error(done[1].values(), expected.lse), kFp32);
      const auto gradients = run_all(backward_launch(s, type, forward, done, dout));
      const double allowed = 2 * tolerance(type);  // bf16 starts from a rounded out
      EXPECT_LT(relative_error(gradients[0].values(), expected.dq), allowed);
      EXPECT_LT(relative_error(gradients[1].values(), expected.dk), allowed);
      EXPECT_LT(relative_error(gradients[2].values(), expected.dv), allowed);
    }
  }
}

TEST_P(Attention, GradientsAreFiniteDifferences) {
  const Shape s{1, 9, 4, 2, 6};
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

// Scores far apart: the softmax is one key, and nothing overflows.
TEST_P(Attention, SurvivesLargeScores) {
  const Shape s{1, 40, 1, 1, 8};
  const Values q(static_cast<std::size_t>(s.queries()), 100.0), v = random_values(s.keys(), 1);
  Values k = zeros(s.keys());
  for (std::size_t c = 0; c < 8; ++c) k[3 * 8 + c] = 100.0;
  const auto done = run_all(forward_launch(s, DType::fp32, q, k, v));
  for (std::size_t t = 3; t < 40; ++t) {
    for (std::size_t c = 0; c < 8; ++c) EXPECT_NEAR(done[0].at(t * 8 + c), v[3 * 8 + c], kFp32);
  }
}

TEST_P(Attention, RefusesHeadsItHasNoRoomFor) {
  const Values one(1026);
  EXPECT_THROW(run(forward_launch({1, 1, 1, 1, 1026}, DType::fp32, one, one, one)),
               std::length_error);
}

FORESHARD_KERNEL_SUITE(Attention);

}  // namespace
}  // namespace foreshard::executor
