// Elementwise operators, the optimizer's step and gradient clipping.
#include <bit>

#include "tests/executor/cpu/kernel_fixture.hpp"

namespace foreshard::executor {
namespace {

class Elements : public KernelTest {};

Values gated(const Values& gate, const Values& up) {
  Values out(gate.size());
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = gate[i] / (1 + std::exp(-gate[i])) * up[i];
  return out;
}

// d out / d gate = up * (s + gate * s * (1 - s)), of which the two terms may cancel.
struct GatedGradients {
  Values gate, gate_terms, up;
};

GatedGradients gated_gradients(const Values& gate, const Values& up, const Values& dout) {
  GatedGradients out;
  for (std::size_t i = 0; i < gate.size(); ++i) {
    const double s = 1 / (1 + std::exp(-gate[i])), g = dout[i] * up[i];
    out.gate.push_back(g * (s + gate[i] * s * (1 - s)));
    out.gate_terms.push_back(std::abs(g) * (s + std::abs(gate[i]) * s * (1 - s)));
    out.up.push_back(dout[i] * gate[i] * s);
  }
  return out;
}

TEST_P(Elements, SwigluAndItsGradients) {
  for (const DType type : kTypes) {
    constexpr std::int64_t T = 7, F = 35;
    const Values gate = rounded(type, random_values(T * F, 1, 4.0)),
                 up = rounded(type, random_values(T * F, 2)),
                 dout = rounded(type, random_values(T * F, 3));
    const auto out = run_all({{Operator::swiglu, type, type, type, {T, F}},
                              {Tensor::of(type, gate), Tensor::of(type, up)},
                              {Tensor::unwritten(type, T * F)}});
    EXPECT_LT(row_error(out[0].values(), gated(gate, up), 1), tolerance(type));
    const auto gradients = run_all({{Operator::swiglu_backward, type, type, type, {T, F}},
                                    {Tensor::of(type, dout)},
                                    {Tensor::of(type, gate), Tensor::of(type, up)}});
    const auto of_gate = [&](const Values& x) { return gated(x, up); };
    const auto of_up = [&](const Values& x) { return gated(gate, x); };
    const GatedGradients expected = gated_gradients(gate, up, dout);
    EXPECT_LT(relative_error(expected.gate, finite_differences(of_gate, gate, dout)), kFp32);
    EXPECT_LT(relative_error(expected.up, finite_differences(of_up, up, dout)), kFp32);
    EXPECT_LT(
        element_error(gradients[0].values(), expected.gate, expected.gate_terms, tolerance(type)),
        1);
    EXPECT_LT(row_error(gradients[1].values(), expected.up, 1), tolerance(type));
  }
}

// The sigmoid's exponential meets every magnitude without overflow or NaN.
TEST_P(Elements, SwigluOfExtremeValues) {
  const Values gate = {-1e4, -100, -88.5, -87, -1e-8, 0, 1e-8, 87, 88.5, 100, 1e4};
  const auto n = static_cast<std::int64_t>(gate.size());
  const Values up(gate.size(), 1.0);
  const auto out = run_all({{Operator::swiglu, DType::fp32, DType::fp32, DType::fp32, {1, n}},
                            {Tensor::of(DType::fp32, gate), Tensor::of(DType::fp32, up)},
                            {Tensor::unwritten(DType::fp32, n)}});
  for (std::size_t i = 0; i < gate.size(); ++i) {
    const double expected = gate[i] / (1 + std::exp(-gate[i]));
    EXPECT_NEAR(out[0].at(i), expected, std::abs(expected) * 3e-7 + 1e-36);
  }
}

TEST_P(Elements, CastAndAddBetweenTypes) {
  constexpr std::int64_t n = 20000 + 13;
  for (const DType from : kTypes) {
    for (const DType to : kTypes) {
      const Values x = rounded(from, random_values(n, 1)), y = rounded(to, random_values(n, 2));
      const auto cast = run_all(
          {{Operator::cast, to, from, to, {n}}, {Tensor::of(from, x)}, {Tensor::unwritten(to, n)}});
      EXPECT_EQ(cast[0].values(), rounded(to, x));
      Values sum(x.size());
      for (std::size_t i = 0; i < sum.size(); ++i) {
        sum[i] = static_cast<double>(static_cast<float>(x[i]) + static_cast<float>(y[i]));
      }
      const auto add =
          run_all({{Operator::add, to, from, to, {n}}, {Tensor::of(from, x)}, {Tensor::of(to, y)}});
      EXPECT_EQ(add[0].values(), rounded(to, sum));
    }
  }
}

TEST_P(Elements, CastsSpecialValues) {
  const Values x = {0.0, -0.0, HUGE_VAL, -HUGE_VAL, 1.00390625, 1.01171875, 3.4e38, 1e-40, 65280.0};
  const auto n = static_cast<std::int64_t>(x.size());
  const auto done = run_all({{Operator::cast, DType::bf16, DType::fp32, DType::bf16, {n}},
                             {Tensor::of(DType::fp32, x)},
                             {Tensor::unwritten(DType::bf16, n)}});
  // Ties go to the even neighbour; the largest fp32 values round to infinity.
  const Values expected = {
      0.0,    -0.0,     HUGE_VAL, -HUGE_VAL,
      1.0,    1.015625, HUGE_VAL, static_cast<double>(to_float(to_bfloat16(1e-40F))),
      65280.0};
  EXPECT_EQ(done[0].values(), expected);
  const auto nan = run_all({{Operator::cast, DType::bf16, DType::fp32, DType::bf16, {1}},
                            {Tensor::of(DType::fp32, {NAN})},
                            {Tensor::zeros(DType::bf16, 1)}});
  EXPECT_TRUE(std::isnan(nan[0].at(0)));
}

// Rounding is by the one rule that files are written by; of a NaN, CUDA sets every bit.
TEST_P(Elements, CastsAsTheScalarConversionDoes) {
  std::vector<std::uint32_t> patterns;
  for (std::uint32_t upper = 0; upper < 0x10000; upper += 3) {
    for (const std::uint32_t lower : {0U, 1U, 0x7fffU, 0x8000U, 0x8001U, 0xffffU}) {
      patterns.push_back(upper << 16 | lower);
    }
  }
  const std::uint16_t nan = tested_device().kind == DeviceKind::cuda ? 0x7fff : kBf16Nan;
  const auto n = static_cast<std::int64_t>(patterns.size());
  Tensor from = Tensor::zeros(DType::fp32, n);
  std::memcpy(from.bytes.data(), patterns.data(), from.bytes.size());
  const auto done = run_all({{Operator::cast, DType::bf16, DType::fp32, DType::bf16, {n}},
                             {from},
                             {Tensor::unwritten(DType::bf16, n)}});
  for (std::size_t i = 0; i < patterns.size(); ++i) {
    std::uint16_t got = 0;
    std::memcpy(&got, done[0].bytes.data() + i * sizeof got, sizeof got);
    const float x = std::bit_cast<float>(patterns[i]);
    ASSERT_EQ(got, std::isnan(x) ? nan : float_to_bf16(x)) << std::hex << patterns[i];
  }
}

TEST_P(Elements, FillZeroClears) {
  const auto done = run_all({{Operator::fill_zero, DType::fp32, DType::fp32, DType::fp32, {28}},
                             {},
                             {Tensor::unwritten(DType::fp32, 7)}});
  EXPECT_EQ(done[0].values(), Values(7));
}

TEST_P(Elements, GradientNormAndClipping) {
  for (const DType type : kTypes) {
    constexpr std::int64_t n = 40001;
    const Values g = rounded(type, random_values(n, 1));
    double squares = 0;
    for (const double x : g) squares += x * x;
    Launch norm{{Operator::gradient_norm, type, type, type, {n}},
                {Tensor::of(type, g)},
                {Tensor::of(DType::fp64, {5, 0, 7})}};
    norm.aux = 1;
    const auto norms = run_all(norm);
    EXPECT_NEAR(norms[0].at(1) / squares, 1, 1e-12);
    EXPECT_EQ(norms[0].at(0), 5);
    EXPECT_EQ(norms[0].at(2), 7);

    Launch clip{{Operator::clip_coefficient, DType::fp64, DType::fp64, DType::fp64, {3}},
                {norms[0]},
                {Tensor::unwritten(DType::fp64, 2)}};
    const double total = std::sqrt(squares + 12);
    EXPECT_EQ(run_all(clip)[0].at(1), 1.0);
    clip.scalars.clip_grad_norm = 1.5;
    EXPECT_NEAR(run_all(clip)[0].at(0) / total, 1, 1e-12);
    EXPECT_NEAR(run_all(clip)[0].at(1), 1.5 / (total + 1e-6), 1e-12);
    clip.scalars.clip_grad_norm = 1e6;
    EXPECT_EQ(run_all(clip)[0].at(1), 1.0);
  }
}

// A unit of three parameters, the second of which leaves this rank nothing.
struct Shards {
  UnitLayout unit;
  Tensor gradient;
  std::vector<Tensor> parameters, averages, squares;
};

Shards make_shards(DType gradient, DType parameter, DType state) {
  Shards s;
  const std::int64_t padded[] = {60, 8, 33}, local[] = {50, 0, 33};
  for (std::size_t i = 0; i < 3; ++i) {
    ParameterShard p;
    p.padded = padded[i];
    p.local = local[i];
    p.offset = s.unit.padded;
    s.unit.padded += p.padded;
    s.unit.parameters.push_back(p);
    const auto seed = static_cast<unsigned>(i);
    s.parameters.push_back(Tensor::of(parameter, random_values(p.padded, seed)));
    s.averages.push_back(Tensor::of(state, random_values(p.local, 10 + seed, 0.1)));
    Values squares = random_values(p.local, 20 + seed, 0.1);
    for (double& x : squares) x = x * x;
    s.squares.push_back(Tensor::of(state, squares));
  }
  s.gradient = Tensor::of(gradient, random_values(s.unit.padded, 30));
  return s;
}

TEST_P(Elements, AdamwUpdatesShards) {
  for (const DType gradient : kTypes) {
    for (const DType state : kTypes) {
      const DType parameter = gradient;
      const Shards s = make_shards(gradient, parameter, state);
      Launch launch{{Operator::adamw, parameter, gradient, state, {83}},
                    {s.gradient, Tensor::of(DType::fp64, {9.0, 0.5})},
                    s.parameters,
                    0,
                    s.unit,
                    {.lr = 1e-2,
                     .beta1 = 0.9,
                     .beta2 = 0.99,
                     .eps = 1e-8,
                     .weight_decay = 0.1,
                     .optimizer_step = 3}};
      launch.writes.insert(launch.writes.end(), s.averages.begin(), s.averages.end());
      launch.writes.insert(launch.writes.end(), s.squares.begin(), s.squares.end());
      const auto done = run_all(launch);
      for (std::size_t i = 0; i < 3; ++i) {
        Values p = s.parameters[i].values(), m = s.averages[i].values(), v = s.squares[i].values();
        Values terms = m;  // of the averages
        for (std::size_t j = 0; j < m.size(); ++j) {
          const double g =
              0.5 * s.gradient.at(static_cast<std::size_t>(s.unit.parameters[i].offset) + j);
          terms[j] = 0.9 * std::abs(m[j]) + 0.1 * std::abs(g);
          m[j] = 0.9 * m[j] + 0.1 * g;
          v[j] = 0.99 * v[j] + 0.01 * g * g;
          p[j] *= 1 - 1e-2 * 0.1;
          p[j] -= 1e-2 / (1 - std::pow(0.9, 3)) * m[j] /
                  (std::sqrt(v[j]) / std::sqrt(1 - std::pow(0.99, 3)) + 1e-8);
        }
        EXPECT_LT(row_error(done[i].values(), p, 1), 2 * tolerance(parameter));
        if (m.empty()) continue;
        EXPECT_LT(element_error(done[3 + i].values(), m, terms, tolerance(state)), 1);
        EXPECT_LT(row_error(done[6 + i].values(), v, 1), tolerance(state));
      }
    }
  }
}

TEST_P(Elements, SgdUpdatesShards) {
  const Shards s = make_shards(DType::fp32, DType::fp32, DType::fp32);
  const auto done = run_all({{Operator::sgd, DType::fp32, DType::fp32, DType::fp32, {83}},
                             {s.gradient, Tensor::of(DType::fp64, {9.0, 0.5})},
                             s.parameters,
                             0,
                             s.unit,
                             {.lr = 1e-2, .weight_decay = 0.1}});
  for (std::size_t i = 0; i < 3; ++i) {
    Values p = s.parameters[i].values(), terms = p;
    for (std::size_t j = 0; j < s.averages[i].size(); ++j) {
      const double g =
          0.5 * s.gradient.at(static_cast<std::size_t>(s.unit.parameters[i].offset) + j);
      terms[j] = 1.001 * std::abs(p[j]) + 1e-2 * std::abs(g);
      p[j] -= 1e-2 * (g + 0.1 * p[j]);
    }
    EXPECT_LT(element_error(done[i].values(), p, terms, kFp32), 1);
  }
}

FORESHARD_KERNEL_SUITE(Elements);

}  // namespace
}  // namespace foreshard::executor
