// RMSNorm, rotary embedding, cross entropy, embedding, sums of rows: operators that
// work row by row.
#include "tests/executor/cpu/kernel_fixture.hpp"

namespace foreshard::executor {
namespace {

class Rows : public KernelTest {};

constexpr double kEps = 1e-5;

Values normed(const Values& x, const Values& w) {
  const std::size_t width = w.size();
  Values y(x.size());
  for (std::size_t row = 0; row < x.size(); row += width) {
    double squares = 0;
    for (std::size_t i = 0; i < width; ++i) squares += x[row + i] * x[row + i];
    const double factor = 1 / std::sqrt(squares / static_cast<double>(width) + kEps);
    for (std::size_t i = 0; i < width; ++i) y[row + i] = x[row + i] * factor * w[i];
  }
  return y;
}

// With h = x * rstd and g = dy * w: dx = rstd * (g - h * mean(g * h)), dw = sum over rows of dy * h.
struct NormGradients {
  Values dx, dx_terms, dw, dw_terms;
};

NormGradients norm_gradients(const Values& x, const Values& w, const Values& dy) {
  const std::size_t width = w.size();
  const double n = static_cast<double>(width);
  NormGradients out{Values(x.size()), Values(x.size()), Values(width), Values(width)};
  for (std::size_t row = 0; row < x.size(); row += width) {
    double squares = 0, mean = 0, mean_terms = 0;
    for (std::size_t i = 0; i < width; ++i) squares += x[row + i] * x[row + i];
    const double rstd = 1 / std::sqrt(squares / n + kEps);
    for (std::size_t i = 0; i < width; ++i) {
      const double term = dy[row + i] * w[i] * x[row + i] * rstd;
      mean += term / n;
      mean_terms += std::abs(term) / n;
      out.dw[i] += dy[row + i] * x[row + i] * rstd;
      out.dw_terms[i] += std::abs(dy[row + i] * x[row + i] * rstd);
    }
    for (std::size_t i = 0; i < width; ++i) {
      const double g = dy[row + i] * w[i], h = x[row + i] * rstd;
      out.dx[row + i] = rstd * (g - h * mean);
      out.dx_terms[row + i] = rstd * (std::abs(g) + std::abs(h) * mean_terms);
    }
  }
  return out;
}

TEST_P(Rows, RmsNormAndItsGradients) {
  for (const auto& [T, D] : {std::pair{1L, 3L}, {5L, 10L}, {33L, 20L}}) {
    const Values x = random_values(T * D, 1), w = random_values(D, 2), dy = random_values(T * D, 3),
                 old = random_values(T * D, 4);
    const auto tensor = [](const Values& v) { return Tensor::of(DType::fp32, v); };
    constexpr DType kType = DType::fp32;
    Launch forward{{Operator::rms_norm, kType, kType, kType, {T, D}},
                   {tensor(x), tensor(w)},
                   {Tensor::unwritten(kType, T * D), Tensor::unwritten(kType, T)}};
    forward.scalars.rms_norm_eps = kEps;
    const auto done = run_all(forward);
    EXPECT_LT(row_error(done[0].values(), normed(x, w), 1), kFp32);

    for (const bool accumulate : {false, true}) {
      const CostKey key{Operator::rms_norm_backward, kType, kType, kType, {T, D, accumulate}};
      const Launch backward{key,
                            {tensor(dy), tensor(x), tensor(w), done[1]},
                            {accumulate ? tensor(old) : Tensor::unwritten(kType, T * D),
                             Tensor::unwritten(kType, D), unwritten_scratch(key)}};
      const auto gradients = run_all(backward);
      NormGradients expected = norm_gradients(x, w, dy);
      const Values dx = finite_differences([&](const Values& v) { return normed(v, w); }, x, dy);
      const Values dw = finite_differences([&](const Values& v) { return normed(x, v); }, w, dy);
      EXPECT_LT(relative_error(expected.dx, dx), kFp32);
      EXPECT_LT(relative_error(expected.dw, dw), kFp32);
      for (std::size_t i = 0; accumulate && i < dx.size(); ++i) {
        expected.dx[i] += old[i];
        expected.dx_terms[i] += std::abs(old[i]);
      }
      EXPECT_LT(element_error(gradients[0].values(), expected.dx, expected.dx_terms, kFp32), 1);
      EXPECT_LT(element_error(gradients[1].values(), expected.dw, expected.dw_terms, kFp32), 1);
    }
  }
}

// In bf16 x / rms is rounded before it meets the weight, so equal inputs give exactly these values.
TEST_P(Rows, RmsNormRoundsTwiceInBf16) {
  constexpr DType kType = DType::bf16;
  constexpr std::int64_t T = 7, D = 37;
  const Values x = rounded(kType, random_values(T * D, 1)), w = rounded(kType, random_values(D, 2));
  Launch forward{{Operator::rms_norm, kType, kType, kType, {T, D}},
                 {Tensor::of(kType, x), Tensor::of(kType, w)},
                 {Tensor::unwritten(kType, T * D), Tensor::unwritten(DType::fp32, T)}};
  forward.scalars.rms_norm_eps = kEps;
  const auto done = run_all(forward);
  for (std::size_t i = 0; i < x.size(); ++i) {
    const float scaled = static_cast<float>(x[i]) * static_cast<float>(done[1].at(i / D));
    const float y = to_float(to_bfloat16(scaled)) * static_cast<float>(w[i % D]);
    EXPECT_EQ(done[0].at(i), static_cast<double>(to_float(to_bfloat16(y))));
  }
  const CostKey key{Operator::rms_norm_backward, kType, kType, kType, {T, D, 0}};
  const Values dy = rounded(kType, random_values(T * D, 3));
  const auto gradients = run_all(
      {key,
       {Tensor::of(kType, dy), forward.reads[0], forward.reads[1], done[1]},
       {Tensor::unwritten(kType, T * D), Tensor::unwritten(kType, D), unwritten_scratch(key)}});
  const NormGradients expected = norm_gradients(x, w, dy);
  EXPECT_LT(element_error(gradients[0].values(), expected.dx, expected.dx_terms, kBf16), 1);
  // What was normed is rounded in every term.
  EXPECT_LT(element_error(gradients[1].values(), expected.dw, expected.dw_terms, kBf16, kBf16 / 2),
            1);
}

// Pairs (i, i + d/2) turn by the angle of the token; backward turns back.
TEST_P(Rows, RopeRotatesAndTurnsBack) {
  constexpr std::int64_t B = 2, S = 7, H = 3, d = 10;
  Launch make_table{{Operator::rope_table, DType::fp32, DType::fp32, DType::fp32, {S, d}},
                    {},
                    {Tensor::unwritten(DType::fp32, S * d)}};
  make_table.scalars.rope_theta = 100;
  const Tensor table = run_all(make_table)[0];
  for (const DType type : {DType::fp32, DType::bf16}) {
    const Values x = rounded(type, random_values(B * S * H * d, 1));
    const CostKey key{Operator::rope, type, type, type, {B, S, H, d}};
    const auto turned = run_all({key, {table}, {Tensor::of(type, x)}});
    CostKey back = key;
    back.op = Operator::rope_backward;
    const auto returned = run_all({back, {table}, {turned[0]}});
    Values expected(x.size()), terms(x.size()), backward(x.size()), backward_terms(x.size());
    for (std::size_t row = 0; row < static_cast<std::size_t>(B * S * H); ++row) {
      for (std::size_t i = 0; i < d / 2; ++i) {
        const double angle =
            static_cast<double>(row / H % S) * std::pow(100.0, -2.0 * static_cast<double>(i) / d);
        const auto turn = [&](auto value, double by, Values& out, Values& of_terms) {
          const std::size_t first = row * d + i, second = first + d / 2;
          const double a = value(first), b = value(second), c = std::cos(by), s = std::sin(by);
          out[first] = a * c - b * s;
          out[second] = b * c + a * s;
          of_terms[first] = std::abs(a * c) + std::abs(b * s);
          of_terms[second] = std::abs(b * c) + std::abs(a * s);
        };
        turn([&](std::size_t at) { return x[at]; }, angle, expected, terms);
        turn([&](std::size_t at) { return turned[0].at(at); }, -angle, backward, backward_terms);
      }
    }
    // The table and each product round as well.
    const double one = tolerance(type);
    EXPECT_LT(element_error(turned[0].values(), expected, terms, one, one), 1);
    EXPECT_LT(element_error(returned[0].values(), backward, backward_terms, one, one), 1);
  }
}

double angle_of(const Tensor& table, std::int64_t S, std::int64_t half, std::int64_t i) {
  const auto at = static_cast<std::size_t>(half + i);  // token 1: its angle is the frequency
  return std::atan2(table.at(static_cast<std::size_t>(S * half) + at), table.at(at));
}

// llama3: wavelengths below 8192 / 4 stay, above 8192 / 1 are divided by 8, between are blended.
TEST_P(Rows, RopeTableScalesFrequencies) {
  constexpr std::int64_t S = 3, d = 128, half = d / 2;
  Launch launch{{Operator::rope_table, DType::fp32, DType::fp32, DType::fp32, {S, d}},
                {},
                {Tensor::unwritten(DType::fp32, S * d)}};
  launch.scalars.rope_theta = 500000;
  const Tensor plain = run_all(launch)[0];
  launch.scalars.rope_scaling = {RopeScaling::Kind::linear, 2.0, 1, 4, 8192};
  const Tensor linear = run_all(launch)[0];
  launch.scalars.rope_scaling = {RopeScaling::Kind::llama3, 8.0, 1, 4, 8192};
  const Tensor llama3 = run_all(launch)[0];
  int blended = 0;
  for (std::int64_t i = 0; i < half; ++i) {
    const double f = std::pow(500000.0, -2.0 * static_cast<double>(i) / d);
    EXPECT_NEAR(angle_of(plain, S, half, i) / f, 1, 1e-5);
    EXPECT_NEAR(angle_of(linear, S, half, i) / f, 0.5, 1e-5);
    const double wavelength = 2 * 3.141592653589793 / f, smooth = (8192 / wavelength - 1) / (4 - 1);
    const double factor = wavelength < 2048   ? 1
                          : wavelength > 8192 ? 0.125
                                              : (1 - smooth) / 8 + smooth;
    blended += factor > 0.126 && factor < 0.999;
    EXPECT_NEAR(angle_of(llama3, S, half, i) / f, factor, 2e-5);
  }
  EXPECT_GT(blended, 2);
}

Values mean_loss(const Values& logits, const std::vector<int>& targets) {
  const std::size_t width = logits.size() / targets.size();
  double total = 0;
  for (std::size_t t = 0; t < targets.size(); ++t) {
    double sum = 0;
    for (std::size_t i = 0; i < width; ++i) sum += std::exp(logits[t * width + i]);
    total += std::log(sum) - logits[t * width + static_cast<std::size_t>(targets[t])];
  }
  return {total / static_cast<double>(targets.size())};
}

// Softmax, less one at the target.
struct LossGradient {
  Values values, terms;
};

LossGradient loss_gradient(const Values& logits, const std::vector<int>& targets, double divisor) {
  const std::size_t width = logits.size() / targets.size();
  LossGradient out;
  for (std::size_t t = 0; t < targets.size(); ++t) {
    double sum = 0;
    for (std::size_t i = 0; i < width; ++i) sum += std::exp(logits[t * width + i]);
    const double scale = 1 / (divisor * static_cast<double>(targets.size()));
    for (std::size_t i = 0; i < width; ++i) {
      const double share = std::exp(logits[t * width + i]) / sum;
      const double one = i == static_cast<std::size_t>(targets[t]) ? 1 : 0;
      out.values.push_back((share - one) * scale);
      out.terms.push_back((share + one) * scale);
    }
  }
  return out;
}

TEST_P(Rows, CrossEntropyAndItsGradient) {
  for (const auto& [T, V] : {std::pair{1L, 2L}, {3L, 259L}, {2L, 1100L}}) {
    for (const DType type : {DType::fp32, DType::bf16}) {
      constexpr std::int64_t A = 3;
      const Values logits = rounded(type, random_values(T * V, 1, 3.0));
      std::vector<int> targets;
      for (std::int64_t t = 0; t < T; ++t)
        targets.push_back(static_cast<int>((t * 977 + V - 1) % V));
      const Tensor target_tensor = Tensor::of(DType::int32, Values(targets.begin(), targets.end()));
      const Launch forward{{Operator::cross_entropy, type, type, type, {T, V, A}},
                           {Tensor::of(type, logits), target_tensor},
                           {Tensor::unwritten(DType::fp32, T), Tensor::of(DType::fp64, {0.25})}};
      const auto done = run_all(forward);
      const double loss = mean_loss(logits, targets)[0];
      EXPECT_NEAR(done[1].at(0), 0.25 + loss / A, 1e-7 * loss);

      const auto gradients =
          run_all({{Operator::cross_entropy_backward, type, type, type, {T, V, A}},
                   {target_tensor, done[0]},
                   {Tensor::of(type, logits)}});
      const auto objective = [&](const Values& x) { return mean_loss(x, targets); };
      const LossGradient expected = loss_gradient(logits, targets, A);
      EXPECT_LT(relative_error(expected.values, finite_differences(objective, logits, {1.0 / A})),
                1e-5);
      EXPECT_LT(element_error(gradients[0].values(), expected.values, expected.terms,
                              tolerance(type), kFp32),
                1);
    }
  }
}

TEST_P(Rows, EmbeddingGradientsCollectInFp32) {
  for (const DType type : {DType::fp32, DType::bf16}) {
    constexpr std::int64_t T = 1000, V = 9, D = 70;
    Values tokens;
    for (std::int64_t t = 0; t < T; ++t)
      tokens.push_back(static_cast<double>(t % 7 == 0 ? 8 : t * t % 5));
    const Tensor token_tensor = Tensor::of(DType::int32, tokens);
    const Values weight = rounded(type, random_values(V * D, 1));
    const auto looked_up = run_all({{Operator::embedding, type, type, type, {T, V, D}},
                                    {Tensor::of(type, weight), token_tensor},
                                    {Tensor::unwritten(type, T * D)}});
    Values dout = random_values(T * D, 2);
    for (double& x : dout) x += 1;  // in bf16 sums beyond 256 would lose these terms
    dout = rounded(type, dout);
    for (const bool accumulate : {false, true}) {
      Values expected = accumulate ? weight : Values(weight.size()), terms(weight.size());
      for (std::size_t i = 0; i < terms.size(); ++i) terms[i] = std::abs(expected[i]);
      for (std::size_t t = 0; t < tokens.size(); ++t) {
        for (std::size_t i = 0; i < D; ++i) {
          const std::size_t row = static_cast<std::size_t>(tokens[t]) * D;
          EXPECT_EQ(looked_up[0].at(t * D + i), weight[row + i]);
          expected[row + i] += dout[t * D + i];
          terms[row + i] += std::abs(dout[t * D + i]);
        }
      }
      const CostKey key{Operator::embedding_backward, type, type, type, {T, V, D, accumulate}};
      const auto gradient =
          run_all({key,
                   {Tensor::of(type, dout), token_tensor},
                   {accumulate ? Tensor::of(type, weight) : Tensor::unwritten(type, V * D),
                    unwritten_scratch(key)}});
      EXPECT_LT(element_error(gradient[0].values(), expected, terms, tolerance(type)), 1);
    }
  }
}

TEST_P(Rows, BiasGradientSumsRows) {
  for (const DType type : {DType::fp32, DType::bf16}) {
    constexpr std::int64_t T = 131, N = 77;
    const Values dy = rounded(type, random_values(T * N, 1));
    Values expected(N), terms(N);
    for (std::size_t i = 0; i < dy.size(); ++i) {
      expected[i % N] += dy[i];
      terms[i % N] += std::abs(dy[i]);
    }
    const Launch launch{{Operator::bias_gradient, type, type, type, {T, N}},
                        {Tensor::of(type, dy)},
                        {Tensor::unwritten(type, N)}};
    EXPECT_LT(element_error(run_all(launch)[0].values(), expected, terms, tolerance(type)), 1);
  }
}

FORESHARD_KERNEL_SUITE(Rows);

}  // namespace
}  // namespace foreshard::executor
