// Attention and its gradients by the whole score matrix, in fp64, and the launches that compute them.
#pragma once

#include "executor/cpu/simd/table.hpp"
#include "tests/executor/cpu/kernel_fixture.hpp"

namespace foreshard::executor {

struct AttentionShape {
  std::int64_t B, S, H, K, d, W = 0;
  std::int64_t queries() const { return B * S * H * d; }
  std::int64_t keys() const { return B * S * K * d; }
  std::int64_t rows() const { return B * H * S; }
  CostKey key(Operator op, DType type) const { return {op, type, type, type, {B, S, H, K, d, W}}; }
  // Keys that a query sees at most.
  std::int64_t window() const { return W == 0 ? S : std::min(W, S); }
  // Elements [sequence, .., head, ..] of x[B, S, heads, d].
  std::vector<std::size_t> of_head(std::int64_t heads, std::int64_t sequence,
                                   std::int64_t head) const {
    std::vector<std::size_t> found;
    for (std::int64_t t = 0; t < S; ++t) {
      for (std::int64_t c = 0; c < d; ++c) {
        found.push_back(static_cast<std::size_t>(((sequence * S + t) * heads + head) * d + c));
      }
    }
    return found;
  }
};

struct Attended {
  Values out, lse, dq, dk, dv;
};

// What becomes of probabilities, of the gradients of scores and of the result that backward reads:
// nothing, or a rounding to bf16.
using Round = double (*)(double);
inline double exact(double x) {
  return x;
}
inline double to_bf16_and_back(double x) {
  return static_cast<double>(bf16_to_float(float_to_bf16(static_cast<float>(x))));
}

// softmax(q k' / sqrt(d)) v of one query row over `keys`, of which the first is the sequence's
// `first_key`-th, and with `dout` its share of the gradients.
inline void attend_row(const AttentionShape& s, std::size_t at_q, std::size_t at_lse,
                       const std::vector<std::size_t>& keys, std::size_t first_key, const Values& q,
                       const Values& k, const Values& v, const Values& dout, Round round,
                       Attended& r) {
  const auto d = static_cast<std::size_t>(s.d);
  const auto tile = static_cast<std::size_t>(attention_tile(s.d));
  const double scale = 1 / std::sqrt(static_cast<double>(s.d));
  const auto dot = [d](const Values& x, std::size_t i, const Values& y, std::size_t j) {
    double total = 0;
    for (std::size_t c = 0; c < d; ++c) total += x[i + c] * y[j + c];
    return total;
  };
  Values x;
  double peak = -1e300, total = 0, delta = 0;
  for (const std::size_t at : keys) x.push_back(dot(q, at_q, k, at) * scale);
  for (const double score : x) peak = std::max(peak, score);
  for (const double score : x) total += std::exp(score - peak);
  r.lse[at_lse] = peak + std::log(total);
  double reference = -1e300;  // the largest score when a tile's exponentials were rounded
  for (std::size_t u = 0; u < x.size(); ++u) {
    const std::size_t in_tile = (first_key + u) % tile;
    if (u == 0 || in_tile == 0) {
      for (std::size_t w = u; w < std::min(u + tile - in_tile, x.size()); ++w) {
        reference = std::max(reference, x[w]);
      }
    }
    const double p = round(std::exp(x[u] - reference)) * std::exp(reference - peak) / total;
    for (std::size_t c = 0; c < d; ++c) r.out[at_q + c] += p * v[keys[u] + c];
  }
  if (dout.empty()) return;
  for (std::size_t c = 0; c < d; ++c) delta += dout[at_q + c] * round(r.out[at_q + c]);
  for (std::size_t u = 0; u < x.size(); ++u) {
    const double p = std::exp(x[u] - r.lse[at_lse]);
    const double ds = round(p * (dot(dout, at_q, v, keys[u]) - delta) * scale);
    for (std::size_t c = 0; c < d; ++c) {
      r.dv[keys[u] + c] += round(p) * dout[at_q + c];
      r.dq[at_q + c] += ds * k[keys[u] + c];
      r.dk[keys[u] + c] += ds * q[at_q + c];
    }
  }
}

inline Attended attend(const AttentionShape& s, const Values& q, const Values& k, const Values& v,
                       const Values& dout = {}, Round round = exact) {
  const auto zeros = [](std::int64_t n) { return Values(static_cast<std::size_t>(n)); };
  Attended r{zeros(s.queries()), zeros(s.rows()), zeros(s.queries()), zeros(s.keys()),
             zeros(s.keys())};
  for (std::int64_t b = 0; b < s.B; ++b) {
    for (std::int64_t h = 0; h < s.H; ++h) {
      std::vector<std::size_t> keys;
      for (std::int64_t t = 0; t < s.S; ++t) {
        const std::int64_t kv_head = h / (s.H / s.K);
        keys.push_back(static_cast<std::size_t>(((b * s.S + t) * s.K + kv_head) * s.d));
        if (t >= s.window()) keys.erase(keys.begin());
        attend_row(s, static_cast<std::size_t>(((b * s.S + t) * s.H + h) * s.d),
                   static_cast<std::size_t>((b * s.H + h) * s.S + t), keys,
                   static_cast<std::size_t>(t + 1) - keys.size(), q, k, v, dout, round, r);
      }
    }
  }
  return r;
}

inline Launch forward_launch(const AttentionShape& s, DType type, const Values& q, const Values& k,
                             const Values& v) {
  return {s.key(Operator::attention, type),
          {Tensor::of(type, q), Tensor::of(type, k), Tensor::of(type, v)},
          {Tensor::unwritten(type, s.queries()), Tensor::unwritten(DType::fp32, s.rows())}};
}

inline Launch backward_launch(const AttentionShape& s, DType type, const Launch& forward,
                              const std::vector<Tensor>& done, const Values& dout) {
  const CostKey key = s.key(Operator::attention_backward, type);
  return {key,
          {Tensor::of(type, dout), forward.reads[0], forward.reads[1], forward.reads[2], done[0],
           done[1]},
          {Tensor::unwritten(type, s.queries()), Tensor::unwritten(type, s.keys()),
           Tensor::unwritten(type, s.keys()), unwritten_scratch(key)}};
}

// Operands of a shape, as a type holds them.
struct AttentionValues {
  Values q, k, v, dout;
  AttentionValues(const AttentionShape& s, DType type)
      : q(rounded(type, random_values(s.queries(), 1, 1.5))),
        k(rounded(type, random_values(s.keys(), 2, 1.5))),
        v(rounded(type, random_values(s.keys(), 3))),
        dout(rounded(type, random_values(s.queries(), 4))) {}
};

}  // namespace foreshard::executor
